/**
 * What the parts of an agent publish: that a call has ended, that a probe has failed, that a pod was rejected.
 *
 * In: a message on a named channel. Out: the same to whoever subscribes to the {@link Channels} of that agent
 * (or observer, or client), such as its metrics and its history. Two agents in one process have two sets of
 * channels and do not hear each other.
 *
 * node:diagnostics_channel gets each message, too, by the same name. It is an outlet for users and for tests,
 * and hears every agent of the process. No part of podloop listens there.
 *
 * @module
 */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

/** The name of a channel and the type of its messages. */
export interface PublishingChannel<Message> {
  /** Its name in node:diagnostics_channel. */
  readonly name: string;
  /** Whether somebody outside listens. */
  readonly hasSubscribers: boolean;
  /** Passes a message to those outside. */
  publish(message: Message): void;
  /**
   * Calls `listener` for each message of the whole process until the returned function is called: for users
   * and tests. Parts of an agent subscribe to its {@link Channels}.
   */
  subscribe(listener: (message: Message) => void): () => void;
}

/** A part that publishes. */
export interface Publisher {
  /** The agent's (default: only those outside hear what is published). */
  readonly channels?: Channels | undefined;
}

/** Defines a typed channel. */
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

/** The channels of one agent, observer or client. Publishing without subscribers costs next to nothing. */
export class Channels {
  readonly #listeners = new Map<unknown, Set<(message: never) => void>>();

  /** Whether a message would reach anybody, here or outside. */
  isHeard(channel: Pick<PublishingChannel<never>, 'hasSubscribers'>): boolean {
    return channel.hasSubscribers || (this.#listeners.get(channel)?.size ?? 0) > 0;
  }

  /** Calls every subscriber synchronously; errors of a subscriber do not reach the publisher. */
  publish<Message>(channel: PublishingChannel<Message>, message: Message): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      try {
        (listener as (message: Message) => void)(message);
      } catch (error) {
        // As node:diagnostics_channel does it.
        process.nextTick(() => {
          throw error;
        });
      }
    }
    if (channel.hasSubscribers) channel.publish(message);
  }

  /** Calls `listener` for each message of this agent until the returned function is called. */
  subscribe<Message>(channel: PublishingChannel<Message>, listener: (message: Message) => void): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners);
    // The same function may subscribe twice.
    const own = (message: Message): void => listener(message);
    listeners.add(own);
    return () => void listeners.delete(own);
  }
}

/** {@link Channels.publish} for a part that may belong to no agent. */
export function publishTo<Message>(
  channels: Channels | undefined,
  channel: PublishingChannel<Message>,
  message: Message,
): void {
  if (channels === undefined) channel.publish(message);
  else channels.publish(channel, message);
}

/** {@link Channels.isHeard} for a part that may belong to no agent. */
export function isHeard(
  channels: Channels | undefined,
  channel: Pick<PublishingChannel<never>, 'hasSubscribers'>,
): boolean {
  return channels?.isHeard(channel) ?? channel.hasSubscribers;
}
