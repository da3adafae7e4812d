// This file reads the payload from #payload and finds the places of the page that the other files fill.

// For tests and the curious; t is the time drawn last.
window.vendirl = { ready: false, t: null, milliseconds: null };
const root = document.documentElement;
const payload = JSON.parse(document.getElementById("payload").textContent);
const sets = payload.sets;
const several = sets.length > 1;
const main = document.getElementById("report");
