import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { runTool } from './run-tool.js';
import { type Trash } from './trash.js';

/** Why there is no overlayfs here; tried out once, when it is first asked for. */
export class OverlayProbe {
  readonly #trash: Trash;
  readonly #logger: Logger;
  #fault: Promise<string | undefined> | undefined;

  constructor({ trash, logger }: { readonly trash: Trash; readonly logger: Logger }) {
    this.#trash = trash;
    this.#logger = logger;
  }

  /** Undefined where there is one. Never rejects. */
  findFault(): Promise<string | undefined> {
    this.#fault ??= findOverlayFault(this.#trash).then((reason) => {
      if (reason !== undefined)
        this.#logger.info('No overlayfs here: each container gets a copy of its image', { reason });
      return reason;
    });
    return this.#fault;
  }
}

/**
 * Finds out whether overlayfs can be mounted over folders at this place, by mounting one in a mount namespace that ends
 * with the attempt. Undefined when it can, else why not.
 */
async function findOverlayFault(trash: Trash): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may mount it';
  const folder = await trash.makeFolder();
  try {
    // In the options of a mount these would be signs.
    if (/[:,\\]/.test(folder)) return 'the root folder has a colon, a comma or a backslash in its name';
    const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map((name) =>
      join(folder, name),
    );
    for (const each of [lower, upper, work, merged]) await mkdir(each!);
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    // Writing is tried, too: some file systems can be mounted over and then not written to.
    const script = 'mount -t overlay overlay -o "$1" "$2" && : > "$2/file" && rm "$2/file"';
    await runTool('unshare', ['-m', '--', 'sh', '-c', script, 'sh', options, merged!]);
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    await trash.discard(folder);
  }
}
