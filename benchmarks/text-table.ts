/** A Markdown table whose columns line up, so that it reads as well on a terminal. Numbers go to the right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const toRight = header.map((_, column) => column > 0 && rows.every((row) => /^[-\d–]/.test(row[column]!)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (toRight[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))).join(' | ')} |`;
  const rule = widths.map((width, at) => (toRight[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}
