import { hostname } from 'node:os';
import { type Observer, type PodLifecycleEvent, type PodStatus } from '#node';
import { type Logger } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { type EventFilter, matchesPod } from '../../shared/events/event-filter.js';
import { type PodAccess } from '../../shared/screen/pod-access.js';
import { PodScreen } from '../../shared/screen/pod-screen.js';
import { ScreenLog } from '../../shared/screen/screen-log.js';
import { SummaryNews } from '../../shared/screen/summary-news.js';
import { type Terminal } from '../../terminal.js';
import { describeStatus, toScreenPod } from './runtime-pods.js';

/** What a {@link WatchScreen} needs. */
export interface WatchScreenOptions {
  readonly host: CliHost;
  readonly terminal: Terminal;
  /** Writes to the same terminal, before and after. */
  readonly logger: Logger;
  readonly filter: EventFilter;
}

/** A list that takes longer makes people ask why nothing changes. */
const SILENT_AFTER_MS = 3_000;
const ONLY_READS =
  'podloop watch only reads a runtime; for logs and shells use kubectl, crictl, or podloop on an agent';

/** The pods of a runtime and what happens to them, on one screen. */
export class WatchScreen implements Disposable {
  /** For whoever logs while the screen is there. */
  readonly log: Logger;
  readonly #options: WatchScreenOptions;
  readonly #log: ScreenLog;
  readonly #news = new SummaryNews();
  readonly #screen: PodScreen;
  readonly #access: PodAccess = {
    details: (pod) => Promise.resolve(this.#describe(pod.uid)),
    containers: () => Promise.reject(failure(ONLY_READS)),
    followLog: () => Promise.reject(failure(ONLY_READS)),
    shell: () => Promise.reject(failure(ONLY_READS)),
  };
  #observer: Observer | undefined;
  #lost: string | undefined;

  /** Takes the terminal at once; the observer comes later. */
  constructor(options: WatchScreenOptions) {
    this.#options = options;
    const { host, terminal, logger } = options;
    const say = (text: string): void => this.#news.add({ atMs: host.clock.now(), text, style: 'warning' });
    this.#log = new ScreenLog({ show: say, behind: logger });
    this.log = this.#log;
    // By its signal, so that a second one counts as usual.
    const interrupt = (): void => void process.kill(host.pid, 'SIGINT');
    this.#screen = new PodScreen({
      ...{ host, terminal, interrupt, quit: interrupt, quitHelp: 'end; the pods are left alone' },
      scene: () => this.#scene(),
      access: () => this.#access,
    });
  }

  /** Shows what this observer sees from now on. */
  show(observer: Observer): void {
    this.#observer = observer;
  }

  /** Shows an event that is of interest. */
  add(event: PodLifecycleEvent): void {
    this.#news.addEvent(event);
  }

  /** The runtime does not answer any more, and why; undefined: it does again. */
  setLost(message: string | undefined): void {
    this.#lost = message;
  }

  /** Gives the terminal back, and writes the warnings that were on it. Idempotent. */
  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]();
    this.#log.flush();
  }

  #describe(uid: string): readonly string[] {
    const status = this.#observer?.statuses().find((each) => each.uid === uid);
    return status === undefined
      ? ['The pod is gone.']
      : describeStatus(status, this.#options.host.clock.now());
  }

  #scene() {
    const { host, filter } = this.#options;
    const observer = this.#observer;
    const statuses: readonly PodStatus[] = observer?.statuses() ?? [];
    const pods = statuses.filter((status) => matchesPod(status, filter)).map(toScreenPod);
    const name = observer === undefined ? 'starting …' : `${observer.runtimeName} ${observer.runtimeVersion}`;
    const trouble = this.#findTrouble();
    return {
      title: `podloop watch   ${hostname()}   ${name}   ${observer?.endpoint ?? ''}`.trimEnd(),
      banner: trouble === undefined ? undefined : `Runtime is away: ${trouble}; pods are shown as last seen`,
      pods: pods.sort((one, other) => compare(keyOf(one), keyOf(other))),
      news: this.#news.list([]),
      nowMs: host.clock.now(),
      // A runtime does not know whether a container is ready.
      readyHeading: 'RUNNING',
    };
  }

  #findTrouble(): string | undefined {
    if (this.#lost !== undefined) return this.#lost;
    const {
      listInFlightMs = 0,
      healthy,
      message,
    } = this.#observer?.health() ?? { healthy: true, message: undefined };
    if (listInFlightMs >= SILENT_AFTER_MS)
      return `it has not answered the list of pods for ${Math.floor(listInFlightMs / 1_000)}s`;
    // A moment after the start nothing has been seen yet.
    return healthy || this.#observer?.health().lastSeenAtMs === undefined ? undefined : message;
  }
}

function keyOf({
  pod: { namespace, name },
}: {
  readonly pod: { readonly namespace: string; readonly name: string };
}) {
  // A slash sorts after a hyphen, which names may contain.
  return `${namespace}\0${name}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
