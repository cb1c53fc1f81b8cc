// DataTables, set up the same way everywhere: no text of the report reaches its search or its HTML.

const DataTable = globalThis.DataTable;

const worstLast = (better) => (a, b) => {
  const isMissing = [a, b].map((value) => value === null || Number.isNaN(value));
  if (isMissing[0] || isMissing[1]) return isMissing[0] - isMissing[1];
  return better(a, b);
};

// Numbers whose gaps come last in either direction.
DataTable.type("score", {
  order: {
    pre: (value) => (value === "" || value === null || value === undefined ? null : Number(value)),
    asc: worstLast((a, b) => a - b),
    desc: worstLast((a, b) => b - a),
  },
});

const PLAIN = {
  autoWidth: false,
  order: [],
  paging: false,
  info: false,
  layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
};

/** Make the table of an element sortable. */
export function sortable(table, options = {}) {
  table.sortedBy = new DataTable(table, { ...PLAIN, ...options });
  return table.sortedBy;
}

/** Take a table of DataTables apart before its element goes. */
export function release(table) {
  if (table) table.destroy();
}
