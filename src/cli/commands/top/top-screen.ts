import { type PlegReport } from '#kube/node/pleg-report.js';
import { type CliHost } from '../../cli-host.js';
import { ScreenControl } from '../../shared/screen/screen-control.js';
import { type ScreenSize } from '../../shared/screen/screen-text.js';
import { type Terminal } from '../../terminal.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { isTerminalInput } from '../../shared/streaming/raw-terminal.js';
import { PodPages } from '../../shared/screen/pod-pages.js';
import { EventRates } from './event-rates.js';
import { formatMs } from './format-ms.js';
import { type Key } from '../../shared/screen/keys.js';
import { paintRows } from '../../shared/screen/row.js';
import { podDetails } from './pod-details.js';
import { type PodRow, selectPods } from './sort-pods.js';
import { topRows } from './top-rows.js';
import { findSelected, pressKey, type TopView } from './top-view.js';

/** What a {@link TopScreen} needs. */
export interface TopScreenOptions {
  readonly terminal: Terminal;
  readonly host: Pick<CliHost, 'stdin' | 'clock' | 'handleSuspension'>;
  readonly title: string;
  /** What is shown first. */
  readonly report: PlegReport;
  readonly view: TopView;
  readonly withColor: boolean;
  /** Called when somebody quits, or the terminal is gone. */
  readonly quit: () => void;
}

/** After so long without a newer report that is said. */
const SILENT_AFTER_MS = 4_000;

/** The screen of `podloop top`: the newest report, seen as somebody likes. */
export class TopScreen implements Disposable {
  readonly #options: TopScreenOptions;
  readonly #rates = new EventRates();
  readonly #screen: ScreenControl;
  readonly #pages: PodPages;
  #size: ScreenSize = { columns: 0, rows: 0 };
  #view: TopView;
  #shown: PlegReport;
  #shownRates: Pick<EventRates, 'history' | 'byType'>;
  #newest: PlegReport;
  #newestAtMs: number;
  #problem: string | undefined;

  /** Takes the terminal. */
  constructor(options: TopScreenOptions) {
    this.#options = options;
    const { terminal, host, report, view, quit } = options;
    this.#view = view;
    this.#shown = report;
    this.#newest = report;
    this.#newestAtMs = host.clock.monotonicMs();
    this.#rates.add(report);
    this.#shownRates = this.#ratesNow();
    this.#pages = new PodPages({ clock: host.clock, onChange: () => this.#screen.draw() });
    this.#screen = new ScreenControl({
      ...{ host, terminal, onEnd: quit },
      render: (size) => this.#render(size),
      onKey: (key) => this.press(key),
    });
  }

  /** Shows this one from now on, or once it is no longer paused. */
  take(report: PlegReport): void {
    this.#newest = report;
    this.#newestAtMs = this.#options.host.clock.monotonicMs();
    this.#problem = undefined;
    this.#rates.add(report);
    this.#showNewest();
    this.#screen.draw();
  }

  /** Says why there is no newer report. */
  fail(problem: string): void {
    this.#problem = problem;
    this.#screen.draw();
  }

  /** Takes a key in. */
  press(key: Key): void {
    const pods = selectPods(this.#shown, this.#view);
    const endsAll = key === 'interrupt' || key === 'suspend' || key === 'redraw';
    if (this.#pages.isOpen && !endsAll) {
      this.#pages.press(key, { columns: this.#size.columns, rows: this.#size.rows - 1 });
      this.#screen.draw();
      return;
    }
    const { view, action } = pressKey(this.#view, key, pods);
    this.#view = view;
    this.#showNewest();
    if (action === 'details') this.#openDetails(pods);
    if (action === 'quit') this.#options.quit();
    else if (action === 'suspend') this.#screen.suspend();
    else if (action === 'redraw') this.#screen.redraw();
    else this.#screen.draw();
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]();
  }

  #openDetails(pods: readonly PodRow[]): void {
    const selected = pods[findSelected(pods, this.#view)];
    if (selected === undefined) return;
    const { pod } = selected;
    this.#pages.openText(`Inspections   ${formatPod(pod)}`, () => podDetails(this.#shown, pod.uid));
  }

  /** Not while the screen is paused, for somebody who reads it. */
  #showNewest(): void {
    if (this.#view.isPaused) return;
    this.#shown = this.#newest;
    this.#shownRates = this.#ratesNow();
  }

  #ratesNow(): Pick<EventRates, 'history' | 'byType'> {
    const { history, byType } = this.#rates;
    return { history, byType };
  }

  #render(size: ScreenSize): string[] {
    const { title, withColor, host } = this.#options;
    const { columns } = size;
    this.#size = size;
    const scene = {
      title,
      report: this.#shown,
      rates: this.#shownRates,
      view: this.#view,
      problem: this.#findProblem(),
      hasKeyboard: isTerminalInput(host.stdin),
    };
    const rows = this.#pages.isOpen
      ? [topRows(scene, size)[0] ?? { text: '' }, ...this.#pages.rows({ columns, rows: size.rows - 1 })]
      : topRows(scene, size);
    return paintRows(rows.slice(0, Math.max(0, size.rows)), { columns, withColor });
  }

  #findProblem(): string | undefined {
    const forMs = this.#options.host.clock.monotonicMs() - this.#newestAtMs;
    const silent = `no answer for ${formatMs(forMs)}; what is below is from then`;
    if (this.#problem !== undefined) return `${this.#problem} (${silent})`;
    return forMs > SILENT_AFTER_MS ? silent : undefined;
  }
}
