/** One mount, as `mount --all --fstab FILE` takes it; see fstab(5). */
export interface FstabEntry {
  /** A path, absolute or relative to where mount runs, or any name for what has no source. */
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** The text of the file. Anything may stand in sources, targets and options except NUL and, in options, a comma. */
export function renderFstab(entries: readonly FstabEntry[]): string {
  return entries.map((entry) => `${renderFstabLine(entry)}\n`).join('');
}

/** One line without its end. */
export function renderFstabLine({ source, target, type, options }: FstabEntry): string {
  return `${[source, target, type, options.join(',') || 'defaults'].map(escapeField).join(' ')} 0 0`;
}

/** White space ends a field and `#` begins a comment; both are written as octal numbers, as the backslash itself. */
function escapeField(text: string): string {
  return text.replaceAll(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
