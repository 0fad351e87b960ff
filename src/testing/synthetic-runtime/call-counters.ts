/** Counts calls by method, and those in flight. */
export class CallCounters {
  readonly calls: Record<string, number> = {};
  readonly inFlight: Record<string, number> = {};
  readonly mostInFlight: Record<string, number> = {};

  /** Counts a call in; the function that comes back counts it out, once. */
  begin(method: string): () => void {
    this.calls[method] = (this.calls[method] ?? 0) + 1;
    const now = (this.inFlight[method] ?? 0) + 1;
    this.inFlight[method] = now;
    this.mostInFlight[method] = Math.max(this.mostInFlight[method] ?? 0, now);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.inFlight[method] = (this.inFlight[method] ?? 1) - 1;
    };
  }
}
