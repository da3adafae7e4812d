// This file makes the table of the versions that the report was made with.

function versionsTable() {
  return scroll(
    "Versions",
    element(
      "table", {},
      element(
        "tbody", {},
        Object.entries(payload.versions || {}).map(([name, version]) =>
          element(
            "tr", {}, element("th", { scope: "row" }, name),
            element("td", {}, element("code", {}, setting(version))),
          ),
        ),
      ),
    ),
  );
}
