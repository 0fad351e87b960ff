import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Condition, parseCondition } from './condition.js';

/**
 * One line of a story: something to wait for, or something to do. `may` is what can come before the next expectation and
 * need not: what lasts so short, or comes so late, that nobody promises to see it.
 */
export type StoryStep =
  | { readonly kind: 'expect'; readonly text: string; readonly condition: Condition }
  | { readonly kind: 'gone' }
  | { readonly kind: 'log'; readonly container: string; readonly line: string }
  | { readonly kind: 'may'; readonly text: string; readonly condition: Condition }
  | { readonly kind: 'remove' }
  | { readonly kind: 'put back' }
  | { readonly kind: 'kill'; readonly container: string }
  | { readonly kind: 'execute'; readonly container: string; readonly script: string }
  | { readonly kind: 'edit'; readonly from: string; readonly to: string };

/** A manifest with what is expected to become of its pod, from the comments in it. */
export interface Story {
  readonly name: string;
  /** As the manifest has it. */
  readonly podName: string;
  readonly manifest: string;
  /** In order: each status has to come at or after the one before. */
  readonly steps: readonly StoryStep[];
  /** What no status may ever show. */
  readonly never: readonly { readonly text: string; readonly condition: Condition }[];
  /** `Warning BackOff`: events that have to be told. */
  readonly events: readonly string[];
  /** What the machine has to have, or it cannot be played: `cgroups`, which can limit memory. */
  readonly needs: readonly string[];
}

/**
 * Reads the comments `# expect:`, `# may:`, `# do:`, `# log NAME:`, `# never:`, `# event:` and `# needs:`; throws for
 * any other word. Other documents of the manifest may stand before and behind the pod.
 */
export async function readStory(path: string): Promise<Story> {
  const manifest = await readFile(path, 'utf8');
  return parseStory(basename(path, '.yaml'), manifest);
}

/** See {@link readStory}. */
export function parseStory(name: string, manifest: string): Story {
  const steps: StoryStep[] = [];
  const never: Story['never'][number][] = [];
  const events: string[] = [];
  const needs: string[] = [];
  for (const [, word, container, text] of manifest.matchAll(/^# (\w+)(?: (\S+))?: (.+)$/gm)) {
    if (container !== undefined) {
      // Any other two words in front of a colon are a sentence.
      if (word === 'log') steps.push({ kind: 'log', container, line: text! });
    } else if (word === 'never') never.push({ text: text!, condition: parseCondition(text!) });
    else if (word === 'event') events.push(text!);
    else if (word === 'needs') needs.push(text!);
    else if (word === 'do') steps.push(parseAction(text!));
    else if (word === 'expect' && text === 'gone') steps.push({ kind: 'gone' });
    else if (word === 'expect' || word === 'may') {
      steps.push({ kind: word, text: text!, condition: parseCondition(text!) });
    } else throw new Error(`${name}: there is no "# ${word}:"`);
  }
  const pod = manifest.split(/^---$/m).find((document) => /^kind: Pod$/m.test(document)) ?? manifest;
  const podName = /^metadata: \{ name: ([\w-]+)/m.exec(pod)?.[1];
  if (podName === undefined) throw new Error(`${name}: the pod has no name`);
  return { name, podName, manifest, steps, never, events, needs };
}

function parseAction(text: string): StoryStep {
  const [word, ...rest] = text.split(' ');
  if (text === 'remove' || text === 'put back') return { kind: text };
  if (word === 'kill' && rest.length === 1) return { kind: 'kill', container: rest[0]! };
  const edit = /^edit (.+) -> (.+)$/.exec(text);
  if (edit !== null) return { kind: 'edit', from: edit[1]!, to: edit[2]! };
  const execute = /^in (\S+): (.+)$/.exec(text);
  if (execute !== null) return { kind: 'execute', container: execute[1]!, script: execute[2]! };
  throw new Error(`nobody can do ${JSON.stringify(text)}`);
}
