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

/** A folder as a look found it. */
export interface WatchedFolder {
  readonly folder: string;
  /** Another one when the folder was replaced: a watch stays with the old one. */
  readonly identity: string;
  /** The only name of interest; undefined for all. */
  readonly onlyName: string | undefined;
}

/** A hint that a look is due. It may fail to come: whoever waits for it looks from time to time anyway. */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #watched: { readonly identity: string; readonly watch: { close(): void } } | undefined;
  #failure = '';
  /** Names that came, since the last look and before it. */
  #arrivals = { new: new Set<string>(), old: new Set<string>() };

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Watches this folder from now on. Call it after each look; it does nothing while the folder is the same. */
  follow({ folder, identity, onlyName }: WatchedFolder): void {
    if (this.#watched?.identity === identity) return;
    this.close();
    const { watch, onChange } = this.#options;
    try {
      const events = {
        onChange: (name: string | undefined, change?: FolderChange): void => {
          // Of a folder that was itself moved or removed its own name is told. Who made it anew may have got its number.
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
      // What happened between the look and now was seen by neither.
      onChange();
    } catch (error) {
      this.#failed(folder, error);
    }
  }

  /**
   * The names that came since the call before the last one, and were not written to after that: files that were moved
   * here. Call it once for each look, after it. Each name is told twice, since the look may have missed what the watch
   * told of while it was made.
   */
  takeArrivals(): ReadonlySet<string> {
    const { new: recent, old } = this.#arrivals;
    this.#arrivals = { new: new Set(), old: recent };
    return new Set([...recent, ...old]);
  }

  /** Watches nothing, until it is told to follow again. */
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
    this.#options.logger.warn('Manifests cannot be watched, and are looked at from time to time', {
      ...{ folder, err: failure },
    });
  }
}

/** What is written to all the time, a log for one, must not be looked at all the time. */
function isOfInterest(name: string, onlyName: string | undefined): boolean {
  if (name === onlyName) return true;
  // Links that lead through `..data` change with it: that is how volumes of ConfigMaps are changed.
  if (name.startsWith('..')) return true;
  return onlyName === undefined && manifestNameKind(name) === 'manifest';
}
