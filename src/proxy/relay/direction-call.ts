import { type CallHeaders, type SideMode, type SideName } from './call-handler.js';
import { type CallSide } from './call-side.js';

/** What a direction of a connection reports to a call. */
export interface DirectionCall {
  readonly request: { readonly mode: SideMode | 'discard' };
  side(name: SideName): CallSide;
  noteHeaders(name: SideName, headers: CallHeaders): void;
  /** The next bytes of its messages. */
  noteBytes(name: SideName, payload: Buffer): void;
  noteSourceEnded(name: SideName): void;
  noteSinkEnded(name: SideName): void;
  /** One end resets the stream; returns whether the other is to hear of it. */
  noteReset(name: SideName, code: number): boolean;
}
