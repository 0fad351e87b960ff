import { watch } from 'node:fs';

/**
 * `named`: a name came, went, or means another file now; `written`: a file was written to, or its facts
 * changed.
 */
export type FolderChange = 'named' | 'written';

/** The callbacks of {@link WatchFolder}. */
export interface FolderWatchEvents {
  /** Something happened to that name; undefined when the name is unknown. */
  readonly onChange: (name: string | undefined, change?: FolderChange) => void;
  /** No further events will come. */
  readonly onFailure: (error: Error) => void;
}

/** Watches the names in a folder until it is closed. Throws when that is impossible. */
export type WatchFolder = (folder: string, events: FolderWatchEvents) => { close(): void };

/** By inotify where available. */
export const watchFolder: WatchFolder = (folder, { onChange, onFailure }) => {
  const watcher = watch(folder, { persistent: false }, (event, name) =>
    onChange(name ?? undefined, event === 'rename' ? 'named' : 'written'),
  );
  watcher.on('error', onFailure);
  return { close: () => watcher.close() };
};
