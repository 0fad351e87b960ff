/** Quotes bytes for a POSIX shell. NUL bytes cannot be; callers refuse them. */
export function quoteBytes(word: string | Buffer): Buffer {
  const text = typeof word === 'string' ? Buffer.from(word) : word;
  return Buffer.from(`'${text.toString('latin1').replaceAll("'", `'\\''`)}'`, 'latin1');
}

/** Quotes text for a POSIX shell. */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command line of plain words. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}
