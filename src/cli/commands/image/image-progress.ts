import { type LayerState } from '#box';
import { type CliHost } from '../../cli-host.js';
import { cut } from '../../shared/screen/screen-text.js';
import { toSizeText } from './image-session.js';

const BAR_WIDTH = 30;
/** As docker shortens digests of layers. */
const ID_LENGTH = 12;

/** How far a layer is, in docker's words: with a bar while it moves. */
function toLayerLine({ digest, size, fetched, unpacked }: LayerState, isFirst: boolean): string {
  const id = digest.split(':')[1]!.slice(0, ID_LENGTH);
  const bar = (done: number): string => {
    const filled = Math.floor((BAR_WIDTH * done) / size);
    const arrow = `${'='.repeat(filled)}>`.slice(0, BAR_WIDTH).padEnd(BAR_WIDTH);
    return `[${arrow}] ${toSizeText(done)}/${toSizeText(size)}`;
  };
  if (unpacked >= size) return `${id}: ${isFirst ? 'Already exists' : 'Pull complete'}`;
  if (unpacked > 0) return `${id}: Extracting ${bar(unpacked)}`;
  if (fetched >= size) return `${id}: Download complete`;
  if (fetched > 0) return `${id}: Downloading ${bar(fetched)}`;
  return `${id}: Pulling fs layer`;
}

/** Shows how far layers are: a bar for each on a terminal, and lines for what is complete elsewhere. */
export class ImageProgress {
  readonly #host: CliHost;
  readonly #lines = new Map<string, string>();
  #drawn = 0;

  constructor(host: CliHost) {
    this.#host = host;
  }

  /** Shows it; of layers that are not among these the last state stays. */
  async show(layers: readonly LayerState[]): Promise<void> {
    const changed: string[] = [];
    for (const layer of layers) {
      const before = this.#lines.get(layer.digest);
      const isFirst = before === undefined || before.endsWith('Already exists');
      const line = toLayerLine(layer, isFirst);
      if (line === before) continue;
      this.#lines.set(layer.digest, line);
      changed.push(line);
    }
    if (changed.length === 0) return;
    const { terminal, stdout } = this.#host;
    if (terminal !== undefined) this.#draw(terminal);
    else for (const line of changed) if (!line.includes('[')) await stdout.writeLine(line);
  }

  /** What comes next is written below the bars. */
  end(): void {
    this.#lines.clear();
    this.#drawn = 0;
  }

  #draw(terminal: NonNullable<CliHost['terminal']>): void {
    const { rows, columns } = terminal;
    // What has left the screen cannot be drawn again: the last ones move.
    const lines = [...this.#lines.values()].slice(-(rows - 1)).map((line) => cut(line, columns - 1));
    const up = this.#drawn > 0 ? `\u001B[${this.#drawn}A` : '';
    terminal.write(`${up}${lines.map((line) => `\r\u001B[K${line}\n`).join('')}`);
    this.#drawn = lines.length;
  }
}
