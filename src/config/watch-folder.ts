import { watch } from 'node:fs';

/** What {@link WatchFolder} tells. */
export interface FolderWatchEvents {
  /** Something happened to that name; undefined when the name is not known. */
  readonly onChange: (name: string | undefined) => void;
  /** It tells nothing more. */
  readonly onFailure: (error: Error) => void;
}

/** Watches the names in a folder until it is closed. Throws when that cannot be. */
export type WatchFolder = (folder: string, events: FolderWatchEvents) => { close(): void };

/** By inotify, where there is that. */
export const watchFolder: WatchFolder = (folder, { onChange, onFailure }) => {
  const watcher = watch(folder, { persistent: false }, (_, name) => onChange(name ?? undefined));
  watcher.on('error', onFailure);
  return { close: () => watcher.close() };
};
