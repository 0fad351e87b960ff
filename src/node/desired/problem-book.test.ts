import { describe, expect, it } from 'vitest';
import { aboutWhole, formatConfigProblem } from './config-problem.js';
import { ProblemBook } from './problem-book.js';

describe('the book of problems', () => {
  it('reports each once, and its end once, whoever else has problems', () => {
    const told: string[] = [];
    const book = new ProblemBook({
      onProblem: ({ file }) => told.push(`+${file}`),
      onSolved: ({ file }) => told.push(`-${file}`),
    });
    const [a, b] = [aboutWhole('file', 'a', 'unreadable', 'x'), aboutWhole('file', 'b', 'unreadable', 'x')];
    book.report('one', [a, b]);
    book.report('two', [a]);
    book.report('one', [b, { ...a, kept: ['now it keeps a pod'] }]);
    expect(told).toEqual(['+a', '+b', '+a']);
    expect(book.problems()).toHaveLength(3);
    book.report('one', [b]);
    book.report('two', []);
    expect(told.slice(3)).toEqual(['-a', '-a']);
    book.report('two', [a]);
    expect(told.slice(5)).toEqual(['+a']);
    expect(book.problems()).toEqual([b, a]);
  });

  it('reports once for each file that no problem is left with it', () => {
    const cleared: string[] = [];
    const book = new ProblemBook({ onCleared: (file) => cleared.push(file) });
    const problems = ['x', 'y', 'z'].map((message) => aboutWhole('file', 'a', 'syntax', message));
    const other = aboutWhole('file', 'b', 'syntax', 'x');
    book.report('one', [...problems, other]);
    book.report('two', [problems[0]!]);
    // One problem takes the place of another.
    book.report('one', [problems[1]!, other]);
    book.report('one', []);
    expect(cleared).toEqual(['b']);
    book.report('two', []);
    expect(cleared).toEqual(['b', 'a']);
  });
});

describe('a problem in words', () => {
  it('names file, place, path, and the pods that go on', () => {
    const problem = {
      ...aboutWhole('file', 'web.yaml', 'required', 'Required value'),
      ...{ line: 9, column: 7, path: 'spec.containers' },
    };
    expect(formatConfigProblem(problem)).toBe('web.yaml:9:7: spec.containers: Required value');
    expect(formatConfigProblem({ ...problem, kept: ['a/b'] })).toMatch(/; a\/b goes on as before$/);
    const isStopped = (name: string): boolean => name === 'a/b';
    expect(formatConfigProblem({ ...problem, kept: ['a/b'] }, isStopped)).toMatch(
      /value; a\/b stays stopped$/,
    );
    expect(formatConfigProblem({ ...problem, kept: ['a/b', 'a/c'] }, isStopped)).toMatch(
      /value; a\/c goes on as before; a\/b stays stopped$/,
    );
    const many = ['1', '2', '3', '4', '5', '6', '7'];
    expect(formatConfigProblem({ ...problem, kept: many })).toMatch(
      /; 1, 2, 3, 4, 5 and 2 more go on as before$/,
    );
  });

  it('has no line where it is of a whole file or of standard input', () => {
    expect(formatConfigProblem(aboutWhole('file', 'a.yaml', 'unreadable', 'cannot be read'))).toBe(
      'a.yaml: cannot be read',
    );
    expect(formatConfigProblem(aboutWhole('stdin', '<stdin>', 'syntax', 'nothing'))).toBe('<stdin>: nothing');
  });
});
