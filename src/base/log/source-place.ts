/** A position in the source: the file, without folders for readers of a log, and the line. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
}
