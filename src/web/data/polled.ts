import { useEffect, useState } from 'preact/hooks';
import { Refused, type Session } from './session.js';

/** The newest answer of something that is asked again and again. */
export interface Polled<Answer> {
  readonly value: Answer | undefined;
  /** Of the last time; the value is the one before then. */
  readonly error: string | undefined;
  /** Whether who answers does not have it at all. */
  readonly isAbsent: boolean;
}

/** Asks for a path every so often while the component is there and the page is visible; for none without a path. */
export function usePolled<Answer>(
  session: Session,
  path: string | undefined,
  everyMs: number,
): Polled<Answer> {
  const [polled, setPolled] = useState<Polled<Answer>>({
    value: undefined,
    error: undefined,
    isAbsent: false,
  });
  useEffect(() => {
    if (path === undefined) return undefined;
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      try {
        if (document.visibilityState === 'visible') {
          const value = await session.json<Answer>(path, ending.signal);
          setPolled({ value, error: undefined, isAbsent: false });
        }
      } catch (error) {
        if (ending.signal.aborted) return;
        const isMissing = error instanceof Refused && error.status === 404;
        // Whoever cannot be asked has what it had.
        setPolled(({ value, isAbsent }) => ({
          ...{ value, error: (error as Error).message, isAbsent: isMissing || isAbsent },
        }));
      }
      if (!ending.signal.aborted) timer = setTimeout(() => void ask(), everyMs);
    };
    setPolled({ value: undefined, error: undefined, isAbsent: false });
    void ask();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [session, path, everyMs]);
  return polled;
}
