import { showInvisible } from '#base/text/show-invisible.js';
import { type PodStates } from '../timeline/timeline-source.js';
import { type Track } from '../timeline/tracks.js';
import { judgePod, type PodObject, type PodVerdict } from './shown-pod.js';
import { type Session } from './session.js';
import { Store } from './store.js';

const RECONNECT_MS = 2_000;

interface Change {
  readonly type: string;
  readonly object?: Partial<PodObject>;
}

/** The pods of the node as they are now. */
export class PodsFeed extends Store implements PodStates {
  readonly byUid = new Map<string, PodObject>();
  state: 'loading' | 'live' | 'lost' = 'loading';
  readonly #session: Session;
  readonly #onChange: (pods: Iterable<PodObject>) => void;

  constructor(session: Session, onChange: (pods: Iterable<PodObject>) => void) {
    super();
    this.#session = session;
    this.#onChange = onChange;
    this.#watch();
  }

  /** By namespace and name. */
  list(): PodObject[] {
    const keyOf = ({ metadata: { namespace, name } }: PodObject): string => `${namespace}/${name}`;
    return [...this.byUid.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  }

  /** Undefined if there is none of that name. */
  find(namespace: string, name: string): PodObject | undefined {
    return [...this.byUid.values()].find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
  }

  judge({ key }: Track): PodVerdict | undefined {
    const pod = this.byUid.get(key);
    return pod === undefined ? undefined : judgePod(pod);
  }

  #watch(): void {
    // A watch begins with all that are there; those that went meanwhile are not named.
    const stale = new Set(this.byUid.keys());
    const settle = (): void => {
      for (const uid of stale) this.byUid.delete(uid);
      stale.clear();
      this.state = 'live';
      this.#news();
    };
    this.#session.stream('/api/v1/pods?watch=true&sendInitialEvents=true', {
      onLines: (lines) => {
        for (const line of lines) {
          const change = parseChange(line);
          if (change?.type === 'BOOKMARK') settle();
          const uid = change?.object?.metadata?.uid;
          if (uid === undefined || change?.type === 'BOOKMARK' || change?.type === 'ERROR') continue;
          stale.delete(uid);
          if (change?.type === 'DELETED') this.byUid.delete(uid);
          else this.byUid.set(uid, change!.object as PodObject);
        }
        this.#news();
      },
      onEnd: () => {
        this.state = 'lost';
        this.changed();
        setTimeout(() => this.#watch(), RECONNECT_MS);
      },
    });
  }

  #news(): void {
    this.#onChange(this.byUid.values());
    this.changed();
  }
}

/** Containers and images write much of what a status says, so characters without a shape become visible in all its texts. */
function parseChange(line: string): Change | undefined {
  try {
    return JSON.parse(line, (_, value: unknown) =>
      typeof value === 'string' ? showInvisible(value) : value,
    ) as Change;
  } catch {
    return undefined;
  }
}
