/** An event of the generator, whichever way it came: out of the library, or as a line of `podloop watch -o json`. */
export interface SeenEvent {
  /** Wall-clock milliseconds at which podloop made it. */
  readonly atMs: number;
  readonly type: string;
  readonly kind: string | undefined;
  readonly podUid: string | undefined;
  readonly containerId: string | undefined;
  readonly exitCode: number | undefined;
  readonly reason: string | undefined;
  readonly trigger: string;
  /** How many events it stands for that a slow reader did not take. */
  readonly folded: number;
}

/** `+3.210s ContainerDied exit 7 Error (relist)`. */
export function formatEvent(event: SeenEvent, originMs: number): string {
  const code = event.exitCode === undefined ? '' : ` exit ${event.exitCode}`;
  const after = ((event.atMs - originMs) / 1000).toFixed(3);
  return `+${after}s ${event.type}${code} ${event.reason ?? ''} (${event.trigger})`;
}
