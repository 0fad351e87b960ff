/**
 * The frames of SPDY/3.1 as encoded on the wire (SPDY protocol, draft 3.1, section 2).
 *
 * ```
 * control   1 | version:15 | type:16 | flags:8 | length:24 | payload
 * data      0 | stream:31            | flags:8 | length:24 | payload
 * ```
 *
 * @module
 */

/** The 3 of SPDY/3.1, the only version number in control frames. */
export const SPDY_VERSION = 3;
/** The length of the head of every frame. */
export const FRAME_HEAD_BYTES = 8;

/** The types of control frames. */
export const FrameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** On SYN_STREAM, SYN_REPLY, HEADERS and data: the sender sends nothing more on the stream. */
export const FLAG_FIN = 1;
/** On SYN_STREAM: the receiver may not send on the stream. */
export const FLAG_UNIDIRECTIONAL = 2;

/** Why a stream is ended with RST_STREAM. */
export const ResetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  unsupportedVersion: 4,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
} as const;

/** Why a session ends, in GOAWAY. */
export const GoAwayStatus = { ok: 0, protocolError: 1, internalError: 2 } as const;

/** SETTINGS entry: the initial window of each stream. */
export const SETTING_INITIAL_WINDOW = 7;
/** The initial window without a setting. */
export const INITIAL_WINDOW_BYTES = 64 * 1024;
/** How many streams of data share a connection if both sides respect windows. */
export const SHARED_STREAMS = 16;
/** The window of such a connection: one unread stream leaves room for all others. */
export const SHARED_WINDOW_BYTES = SHARED_STREAMS * INITIAL_WINDOW_BYTES;
/**
 * Header of the upgrade request and of the accepting answer: both sides respect windows
 * ({@link FLOW_CONTROL_WINDOWS}).
 *
 * Few other implementations of SPDY do.
 */
export const FLOW_CONTROL_HEADER = 'podloop-flow-control';
export const FLOW_CONTROL_WINDOWS = 'windows';
/** In bytes: a larger window is an error of flow control. */
export const LARGEST_WINDOW = 2 ** 31 - 1;

/** Values by name; repeated values of a name are joined by NUL. Names are in lower case. */
export type SpdyHeaders = ReadonlyMap<string, string>;

/** A frame that was read: headers are still compressed, data may be only a part of its frame's. */
export type SpdyFrame =
  | { readonly type: 'syn-stream'; readonly stream: number; readonly flags: number; readonly block: Buffer }
  | { readonly type: 'syn-reply'; readonly stream: number; readonly flags: number; readonly block: Buffer }
  | { readonly type: 'headers'; readonly stream: number; readonly flags: number; readonly block: Buffer }
  | { readonly type: 'rst-stream'; readonly stream: number; readonly status: number }
  | { readonly type: 'settings'; readonly initialWindow: number | undefined }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'go-away'; readonly lastStream: number; readonly status: number }
  | { readonly type: 'window-update'; readonly stream: number; readonly delta: number }
  /** `fin` is set on the last part of a frame that has it. */
  | { readonly type: 'data'; readonly stream: number; readonly payload: Buffer; readonly fin: boolean }
  /** A control frame of an unknown type, which is skipped. */
  | { readonly type: 'unknown'; readonly typeNumber: number };

/** An error that breaks the whole connection: it is answered with a GOAWAY. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}
