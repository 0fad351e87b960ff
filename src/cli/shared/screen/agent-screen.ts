import { type Agent } from '#node';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { LiveScreen } from './live-screen.js';
import { ScreenLog } from './screen-log.js';
import { SummaryNews } from './summary-news.js';
import { formatSummary } from './summary-text.js';
import { type Terminal } from '../../terminal.js';

/** What an {@link AgentScreen} needs. */
export interface AgentScreenOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Writes to the same terminal, before and after. */
  readonly logger: Logger;
  /** The first row. */
  readonly title: string;
}

/** The pods of an agent and what happens to them, on one screen. Sentences before it is there are shown too. */
export class AgentScreen implements Disposable {
  /** For whoever logs while the screen is there. */
  readonly log: Logger;
  readonly #options: AgentScreenOptions;
  readonly #log: ScreenLog;
  readonly #news = new SummaryNews();
  readonly #screen: LiveScreen;
  #agent: Pick<Agent, 'pods' | 'podEvents'> | undefined;
  #title: string;

  /** Takes the terminal at once; the agent comes later. */
  constructor(options: AgentScreenOptions) {
    this.#options = options;
    this.#title = options.title;
    this.#log = new ScreenLog({ show: (sentence) => this.say(sentence), behind: options.logger });
    this.log = this.#log;
    const { terminal, clock } = options;
    this.#screen = new LiveScreen({
      terminal,
      clock,
      render: (size) => formatSummary(this.#summarize(), size),
    });
  }

  /** Shows a sentence among what happens. */
  say(sentence: string): void {
    this.#news.add({ atMs: this.#options.clock.now(), text: sentence });
  }

  /** Shows this agent from now on. Resolves when its events end, at the end of its run. */
  async follow(agent: Pick<Agent, 'pods' | 'podEvents' | 'subscribe'>, title: string): Promise<void> {
    this.#agent = agent;
    this.#title = title;
    for await (const event of agent.subscribe()) this.#news.addEvent(event);
  }

  /** Gives the terminal back, and writes the warnings that were on it. Idempotent. */
  [Symbol.dispose](): void {
    this.#screen.close();
    this.#log.flush();
  }

  #summarize() {
    const { clock } = this.#options;
    const pods = this.#agent?.pods() ?? [];
    const news = this.#news.list(this.#agent?.podEvents() ?? []);
    return { title: this.#title, pods, news, nowMs: clock.now() };
  }
}
