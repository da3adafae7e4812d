// This file shows the videos of skills.

function videosOf(set) {
  return element(
    "div", { class: "videos" },
    (set.videos || [])
      .filter((video) => String(video.src).startsWith("data:video/"))
      .map((video) =>
        element(
          "figure", {},
          element("video", {
            controls: true, loop: true, muted: true, playsinline: true, preload: "metadata", src: video.src,
            "aria-label": skillName(set, video.skill),
          }),
          element("figcaption", {}, skillName(set, video.skill)),
        ),
      ),
  );
}
