// Tables in an element of the class "sortable" are sorted by the column whose heading is used.
for (const table of document.querySelectorAll(".sortable table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.setAttribute("aria-sort", "none");
    heading.tabIndex = 0;
    const sort = () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((h) => h.setAttribute("aria-sort", "none"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].textContent.trim();
      const rows = [...body.rows].sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (up ? 1 : -1));
      body.append(...rows);
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        sort();
      }
    });
  });
}
