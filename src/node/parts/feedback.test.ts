import { describe, expect, it } from 'vitest';
import { Notifier, Question } from './feedback.js';

describe('a notifier', () => {
  it('calls each listener in turn, until it leaves', () => {
    const notifier = new Notifier<number>('numbers');
    const seen: string[] = [];
    const listener = (message: number): void => void seen.push(`a ${message}`);
    const leave = [
      notifier.subscribe(listener),
      notifier.subscribe((message) => seen.push(`b ${message}`)),
      notifier.subscribe(listener),
    ];
    notifier.notify(1);
    leave[0]!();
    leave[0]!();
    notifier.notify(2);
    expect(seen).toEqual(['a 1', 'b 1', 'a 1', 'b 2', 'a 2']);
    leave.forEach((each) => each());
    expect(() => notifier.notify(3)).toThrow('nobody listens yet: numbers');
  });

  it('lets a listener leave, or another one come, while it calls them', () => {
    const notifier = new Notifier('turns');
    const seen: string[] = [];
    const leave = notifier.subscribe(() => {
      seen.push('first');
      leave();
      notifier.subscribe(() => seen.push('third'));
    });
    notifier.subscribe(() => seen.push('second'));
    notifier.notify();
    notifier.notify();
    expect(seen).toEqual(['first', 'second', 'second', 'third']);
  });
});

describe('a question', () => {
  it('is answered by one part, and by nobody before', () => {
    const question = new Question<number, string>('half');
    expect(() => question.ask(4)).toThrow('nobody answers yet: half');
    question.answerWith((number) => String(number / 2));
    expect(question.ask(4)).toBe('2');
    expect(() => question.answerWith(String)).toThrow('somebody answers already: half');
  });
});
