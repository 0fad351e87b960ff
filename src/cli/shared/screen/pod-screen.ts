import { messageOf } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { type CliHost } from '../../cli-host.js';
import { type Terminal } from '../../terminal.js';
import { isTerminalInput } from '../streaming/raw-terminal.js';
import { escapeTerminal } from '../print/terminal-text.js';
import { type Key } from './keys.js';
import { itemsOf, type ListScene, listRows, toNewsRow } from './list-rows.js';
import {
  findSelected,
  INITIAL_LIST_VIEW,
  LIST_KEYS,
  type ListAction,
  type PodListView,
  pressListKey,
} from './pod-list.js';
import { type PodAccess } from './pod-access.js';
import { PodPages } from './pod-pages.js';
import { allowsColor, paintRows } from './row.js';
import { ScreenControl } from './screen-control.js';
import { type ScreenSize } from './screen-text.js';
import { AT_END } from './text-page.js';

/** What is shown now; the screen adds how somebody wants to see it. */
export type PodScene = Omit<ListScene, 'view' | 'message'>;

/** What a {@link PodScreen} needs. */
export interface PodScreenOptions {
  readonly host: CliHost;
  readonly terminal: Terminal;
  readonly scene: () => PodScene;
  /** How pods are reached for details, logs and shells; undefined as long as they cannot be. */
  readonly access: () => PodAccess | undefined;
  /** What `q` does, and what it does to the program, for the help. */
  readonly quit: () => void;
  readonly quitHelp: string;
  /** What Ctrl-C does, which the terminal does not send as a signal while keys are read one by one. */
  readonly interrupt: () => void;
  /** Whether keys are read (default: true). */
  readonly readsKeys?: boolean;
}

/** How long a message stays in the last row. */
const MESSAGE_MS = 6_000;

/** A list of pods with what happens to them, and what a person does with it by keys. */
export class PodScreen implements Disposable {
  readonly #options: PodScreenOptions;
  readonly #control: ScreenControl;
  readonly #pages: PodPages;
  readonly #ending = new AbortController();
  #view: PodListView = INITIAL_LIST_VIEW;
  #message: { readonly text: string; readonly untilMs: number } | undefined;
  #hasShell = false;

  /** Takes the terminal at once. */
  constructor(options: PodScreenOptions) {
    this.#options = options;
    const { host, terminal, readsKeys = true } = options;
    const hasKeyboard = readsKeys && isTerminalInput(host.stdin);
    this.#pages = new PodPages({ clock: host.clock, onChange: () => this.#control.draw() });
    this.#control = new ScreenControl({
      ...{ host, terminal, readsKeys: hasKeyboard },
      render: (size) => this.#render(size, hasKeyboard),
      onKey: (key) => this.press(key),
      // The hangup of the terminal ends the program by its signal.
      onEnd: () => undefined,
    });
  }

  /** Takes a key in. */
  press(key: Key): void {
    if (key === 'interrupt') {
      this.#options.interrupt();
      return;
    }
    if (key === 'suspend') {
      this.#control.suspend();
      return;
    }
    if (key === 'redraw') {
      this.#control.redraw();
      return;
    }
    const { columns, rows } = this.#options.terminal;
    if (this.#pages.isOpen) {
      this.#pages.press(key, { columns, rows: rows - 1 });
    } else {
      const items = itemsOf(this.#scene(), { columns, rows });
      const { view, action } = pressListKey(this.#view, key, items);
      this.#view = view;
      const item = items[findSelected(items, view)];
      if (action !== undefined) this.#act(action, item?.kind === 'pod' ? item.pod.pod : undefined);
    }
    this.#control.draw();
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    this.#ending.abort();
    this.#pages[Symbol.dispose]();
    this.#control[Symbol.dispose]();
  }

  #act(action: ListAction, pod: PodRef | undefined): void {
    if (action === 'quit') {
      this.#options.quit();
      return;
    }
    if (action === 'help') {
      this.#pages.openHelp([...LIST_KEYS, ['q Ctrl-C', this.#options.quitHelp]]);
      return;
    }
    if (action === 'events') {
      const lines = () => this.#options.scene().news.map((line) => toNewsRow(line));
      this.#pages.openText('What happened', lines, AT_END);
      return;
    }
    if (pod === undefined) {
      this.#say('select a pod first');
      return;
    }
    const access = this.#options.access();
    if (access === undefined) {
      this.#say('the agent is still starting');
      return;
    }
    if (action === 'open') this.#pages.openDetails(pod, access);
    else if (action === 'logs') this.#pages.openLog(pod, access);
    else void this.#runShell(pod, access);
  }

  /** Lends the terminal to a shell in the pod. Says afterwards why there was none. */
  async #runShell(pod: PodRef, access: PodAccess): Promise<void> {
    if (this.#hasShell) return;
    this.#hasShell = true;
    const { stdout } = this.#options.host;
    const link = linkAbort(this.#ending.signal);
    try {
      const [container = ''] = await access.containers(pod, link.signal);
      const name = escapeTerminal(`${formatPod(pod)}, container ${container}`);
      await this.#control.lend(async () => {
        await stdout.writeLine(`Shell in ${name}; "exit" or Ctrl-D leads back`);
        await access.shell(pod, container, link.signal);
      });
    } catch (error) {
      if (!this.#ending.signal.aborted)
        this.#say(`shell in ${formatPod(pod)}: ${messageOf(error).replace(/^error: /, '')}`);
    } finally {
      link.unlink();
      this.#hasShell = false;
    }
  }

  #say(text: string): void {
    this.#message = { text, untilMs: this.#options.host.clock.monotonicMs() + MESSAGE_MS };
    this.#control.draw();
  }

  #scene(): ListScene {
    const isOver =
      this.#message !== undefined && this.#options.host.clock.monotonicMs() >= this.#message.untilMs;
    if (isOver) this.#message = undefined;
    return { ...this.#options.scene(), view: this.#view, message: this.#message?.text };
  }

  #render(size: ScreenSize, hasKeyboard: boolean): string[] {
    const { env } = this.#options.host;
    const { columns } = size;
    const scene = hasKeyboard ? this.#scene() : { ...this.#scene(), view: undefined };
    const top = {
      text: scene.banner ?? scene.title,
      style: scene.banner === undefined ? ('title' as const) : ('unhealthy' as const),
    };
    const rows = this.#pages.isOpen
      ? [top, ...this.#pages.rows({ columns, rows: size.rows - 1 })]
      : listRows(scene, size);
    return paintRows(rows.slice(0, size.rows), { columns, withColor: allowsColor(env) });
  }
}
