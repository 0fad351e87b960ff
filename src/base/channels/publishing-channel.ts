/**
 * The diagnostics channels that podloop publishes on: metrics, `doctor` and tests listen here, so that no part
 * imports the metrics in order to be counted.
 *
 * Publishing on a channel that nobody listens to costs next to nothing.
 *
 * @module
 */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

/** One named diagnostics channel and the type of what is published on it. */
export interface PublishingChannel<Message> {
  /** The name under which node:diagnostics_channel knows it. */
  readonly name: string;
  readonly hasSubscribers: boolean;
  /** Calls every subscriber synchronously; what a subscriber throws does not come back here. */
  publish(message: Message): void;
  /** Calls `listener` for each message until the returned function is called. */
  subscribe(listener: (message: Message) => void): () => void;
}

/** Gives a node:diagnostics_channel of that name the type of its messages. */
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
