/**
 * The diagnostics channels of podloop: metrics, `doctor` and tests subscribe here, so that no part has to
 * import the metrics.
 *
 * Publishing on a channel without subscribers costs next to nothing.
 *
 * @module
 */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

/** One named diagnostics channel and the type of what is published on it. */
export interface PublishingChannel<Message> {
  /** The name of the channel in node:diagnostics_channel. */
  readonly name: string;
  readonly hasSubscribers: boolean;
  /** Calls every subscriber synchronously; errors of a subscriber do not reach the publisher. */
  publish(message: Message): void;
  /** Calls `listener` for each message until the returned function is called. */
  subscribe(listener: (message: Message) => void): () => void;
}

/** Defines a typed node:diagnostics_channel. */
export function definePublishingChannel<Message>(name: string): PublishingChannel<Message> {
  const inner = channel(name);
  return {
    name,
    get hasSubscribers() {
      return inner.hasSubscribers;
    },
    publish: (message) => inner.publish(message),
    subscribe: (listener) => {
      const untyped = (message: unknown): void => listener(message as Message);
      subscribe(name, untyped);
      return () => {
        unsubscribe(name, untyped);
      };
    },
  };
}
