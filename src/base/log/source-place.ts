/** A place in the source: file, for readers of a log without folders, and line. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
}
