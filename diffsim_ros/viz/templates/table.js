"use strict";
// Click a heading to sort the table by that column; click again for the other direction.
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((head, column) => head.addEventListener("click", () => {
    const body = table.tBodies[0], up = head.dataset.up !== "yes";
    const key = (row) => row.cells[column].textContent;
    const rows = [...body.rows].sort((a, b) => {
      const x = parseFloat(key(a)), y = parseFloat(key(b));
      const order = Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
      return up ? order : -order;
    });
    head.dataset.up = up ? "yes" : "no";
    body.append(...rows);
  }));
}
