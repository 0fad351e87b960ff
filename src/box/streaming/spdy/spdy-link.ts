import { type IdleTimer } from '../idle-timer.js';
import { type ReadAhead } from '../sessions/read-ahead.js';
import { encodeRstStream, encodeSynReply } from '#base/wire/spdy/encode-frame.js';
import { encodeHeaderBlock } from '#base/wire/spdy/header-block.js';
import { HeaderDeflater } from '#base/wire/spdy/header-deflater.js';
import { type SpdyOutput } from './spdy-output.js';
import { type SpdyLink, type SpdyStream } from './spdy-stream.js';

/** What {@link linkStreams} needs of a connection. */
export interface LinkedConnection {
  readonly output: SpdyOutput;
  readonly readAhead: ReadAhead;
  readonly idle: IdleTimer;
  /** Called when a stream may just have been closed. */
  readonly onMaybeClosed: (stream: SpdyStream) => void;
}

/** Gives the streams of a connection what they ask of it; their headers are compressed by one state for all. */
export function linkStreams({ output, readAhead, idle, onMaybeClosed }: LinkedConnection): SpdyLink {
  const deflater = new HeaderDeflater();
  return {
    sendReply: ({ id }) => {
      const block = deflater.deflate(encodeHeaderBlock(new Map()));
      output.reply(encodeSynReply(id, block));
    },
    sendData: (stream, data, callback) => {
      idle.touch();
      output.sendData(stream, data, callback);
    },
    sendEnd: (stream, callback) => {
      output.sendEnd(stream, callback);
      onMaybeClosed(stream);
    },
    sendReset: (stream, status) => {
      output.reply(encodeRstStream(stream.id, status));
      onMaybeClosed(stream);
    },
    take: (cost) => readAhead.take(cost),
    release: (stream, cost, bytes) => {
      readAhead.release(cost);
      output.received.acknowledge(stream, bytes);
    },
  };
}
