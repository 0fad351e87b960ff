import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it } from 'vitest';
import { definePublishingChannel } from './channels.js';

it('hands each message to every listener until it is taken off', () => {
  const numbers = definePublishingChannel<number>('podloop:test:numbers');
  const heard: number[] = [];
  expect(numbers.hasSubscribers).toBe(false);
  const stops = [numbers.subscribe((n) => heard.push(n)), numbers.subscribe((n) => heard.push(n * 10))];
  expect(numbers.hasSubscribers).toBe(true);
  numbers.publish(1);
  stops[0]!();
  numbers.publish(2);
  stops[1]!();
  numbers.publish(3);
  expect(heard).toEqual([1, 10, 20]);
  expect(numbers.hasSubscribers).toBe(false);
});

it('is the channel that Node knows under its name', () => {
  const words = definePublishingChannel<string>('podloop:test:words');
  const heard: unknown[] = [];
  const listen = (message: unknown): void => void heard.push(message);
  subscribe('podloop:test:words', listen);
  words.publish('here');
  unsubscribe('podloop:test:words', listen);
  expect(heard).toEqual(['here']);
});
