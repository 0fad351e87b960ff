import { type Logger } from '#base/log/logger.js';
import { RecentKeys } from '#base/async/recent-keys.js';

/** How many settings are remembered, so that each is logged once. */
const MAX_LOGGED = 100;
/** What people can do about files below /proc/sys that cannot be written. */
const REMEDY =
  'Have /proc/sys writable where podloop runs (a container needs --privileged, a systemd unit no ProtectKernelTunables=), or let containers drop the capability NET_RAW: without it they cannot send false routes.';

/**
 * Logs which settings of links cannot be written: once for each setting, as it is the same for every pod where
 * /proc/sys is read-only.
 */
export class UnwrittenSettings {
  readonly #logger: Logger;
  readonly #message: string;
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });

  /** @param options.message what may come of it. */
  constructor({ logger, message }: { readonly logger: Logger; readonly message: string }) {
    this.#logger = logger;
    this.#message = message;
  }

  /**
   * @param files those that could not be written; none is fine.
   * @param fields which pod or link it is about.
   */
  log(files: readonly string[], fields: Readonly<Record<string, string>>): void {
    const isNew = files.map((file) => this.#logged.add(withoutLink(file)));
    if (!isNew.includes(true)) return;
    this.#logger.warn(this.#message, { ...fields, files: files.join(' '), remedy: REMEDY });
  }
}

/** Each pod has a link of its own. */
function withoutLink(file: string): string {
  return file.replace(/\/conf\/[^/]+\//, '/conf/LINK/');
}
