import { useEffect, useState } from 'preact/hooks';

/** Something that changes, and reports it. */
export class Store {
  readonly #listeners = new Set<() => void>();
  #isPlanned = false;
  #version = 0;

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** Calls `listener` after changes, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reports a change: many of a moment as one. */
  protected changed(): void {
    this.#version++;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(() => {
      this.#isPlanned = false;
      for (const listener of this.#listeners) listener();
    }, NEWS_MS);
  }
}

/** A component is drawn again at most so often. */
const NEWS_MS = 100;

/** Draws the component again when the store changes. */
export function useStore<Kind extends Store>(store: Kind): Kind {
  const [, setCount] = useState(0);
  useEffect(() => store.subscribe(() => setCount((count) => count + 1)), [store]);
  return store;
}

/** Draws the component again every so often, and returns the time. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
