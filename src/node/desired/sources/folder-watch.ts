import { basename } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { manifestNameKind } from '../manifests/manifest-names.js';
import { type FolderChange, type WatchFolder } from './watch-folder.js';

/** What a {@link FolderWatch} needs. */
export interface FolderWatchOptions {
  readonly watch: WatchFolder;
  readonly logger: Logger;
  /** Called when something happened, or may have. */
  readonly onChange: () => void;
}

/** A folder as of a reading. */
export interface WatchedFolder {
  readonly folder: string;
  /** Changes when the folder was replaced: a watch stays with the old one. */
  readonly identity: string;
  /** The only name of interest; undefined for all. */
  readonly onlyName: string | undefined;
}

/** Signals that a reading is due. Signals may get lost, so the caller also reads from time to time. */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #watched: { readonly identity: string; readonly watch: { close(): void } } | undefined;
  #failure = '';
  /** Names that came since the last reading, and before it. */
  #arrivals = { new: new Set<string>(), old: new Set<string>() };

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /**
   * Watches this folder from now on. Call it after each reading; it does nothing while the folder is the
   * same.
   */
  follow({ folder, identity, onlyName }: WatchedFolder): void {
    if (this.#watched?.identity === identity) return;
    this.close();
    const { watch, onChange } = this.#options;
    try {
      const events = {
        onChange: (name: string | undefined, change?: FolderChange): void => {
          // A folder that was itself moved or removed reports its own name. A new one may have got its inode
          // number.
          const isOfFolder = name === basename(folder);
          if (isOfFolder) this.close();
          if (name === undefined || isOfFolder) onChange();
          else if (isOfInterest(name, onlyName)) {
            this.#note(name, change);
            onChange();
          }
        },
        onFailure: (error: Error): void => this.#failed(folder, error),
      };
      this.#watched = { identity, watch: watch(folder, events) };
      // Neither the reading nor the watch saw what happened in between.
      onChange();
    } catch (error) {
      this.#failed(folder, error);
    }
  }

  /**
   * Names that came since the call before the last one, and were not written to after that: files that were
   * moved here.
   *
   * Call it once after each reading. Each name is returned twice, as the reading may have missed what the
   * watch reported meanwhile.
   */
  takeArrivals(): ReadonlySet<string> {
    const { new: recent, old } = this.#arrivals;
    this.#arrivals = { new: new Set(), old: recent };
    return new Set([...recent, ...old]);
  }

  /** Stops watching, until the next call of follow. */
  close(): void {
    this.#watched?.watch.close();
    this.#watched = undefined;
  }

  #note(name: string, change: FolderChange | undefined): void {
    if (change === 'named') {
      this.#arrivals.new.add(name);
    } else {
      this.#arrivals.new.delete(name);
      this.#arrivals.old.delete(name);
    }
  }

  #failed(folder: string, error: unknown): void {
    this.close();
    const failure = messageOf(error);
    if (this.#failure === failure) return;
    this.#failure = failure;
    this.#options.logger.warn('Manifests cannot be watched, polling them instead', {
      ...{ folder, err: failure },
    });
  }
}

/** Ignores files that are written to all the time, such as logs. */
function isOfInterest(name: string, onlyName: string | undefined): boolean {
  if (name === onlyName) return true;
  // Links through `..data` change with it: that is how volumes of ConfigMaps are changed.
  if (name.startsWith('..')) return true;
  return onlyName === undefined && manifestNameKind(name) === 'manifest';
}
