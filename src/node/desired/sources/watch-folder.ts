import { watch } from 'node:fs';

/** `named`: a name came, went, or stands for another file now; `written`: a file was written to, or its facts changed. */
export type FolderChange = 'named' | 'written';

/** What {@link WatchFolder} tells. */
export interface FolderWatchEvents {
  /** Something happened to that name; undefined when the name is not known. */
  readonly onChange: (name: string | undefined, change?: FolderChange) => void;
  /** It tells nothing more. */
  readonly onFailure: (error: Error) => void;
}

/** Watches the names in a folder until it is closed. Throws when that cannot be. */
export type WatchFolder = (folder: string, events: FolderWatchEvents) => { close(): void };

/** By inotify, where there is that. */
export const watchFolder: WatchFolder = (folder, { onChange, onFailure }) => {
  const watcher = watch(folder, { persistent: false }, (event, name) =>
    onChange(name ?? undefined, event === 'rename' ? 'named' : 'written'),
  );
  watcher.on('error', onFailure);
  return { close: () => watcher.close() };
};
