import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Condition, parseCondition } from './condition.js';

/** One line of a story: something to wait for, or something to do. */
export type StoryStep =
  | { readonly kind: 'expect'; readonly text: string; readonly condition: Condition }
  | { readonly kind: 'gone' }
  | { readonly kind: 'remove' }
  | { readonly kind: 'kill'; readonly container: string }
  | { readonly kind: 'edit'; readonly from: string; readonly to: string };

/** A manifest with what is expected to become of its pod, from the comments in it. */
export interface Story {
  readonly name: string;
  readonly manifest: string;
  /** In order: each status has to come at or after the one before. */
  readonly steps: readonly StoryStep[];
  /** What no status may ever show. */
  readonly never: readonly { readonly text: string; readonly condition: Condition }[];
  /** `Warning BackOff`: events that have to be told. */
  readonly events: readonly string[];
}

/** Reads the comments `# expect:`, `# do:`, `# never:` and `# event:`; throws for any other word. */
export async function readStory(path: string): Promise<Story> {
  const manifest = await readFile(path, 'utf8');
  return parseStory(basename(path, '.yaml'), manifest);
}

/** See {@link readStory}. */
export function parseStory(name: string, manifest: string): Story {
  const steps: StoryStep[] = [];
  const never: Story['never'][number][] = [];
  const events: string[] = [];
  for (const [, word, text] of manifest.matchAll(/^# (\w+): (.+)$/gm)) {
    if (word === 'never') never.push({ text: text!, condition: parseCondition(text!) });
    else if (word === 'event') events.push(text!);
    else if (word === 'do') steps.push(parseAction(text!));
    else if (word === 'expect' && text === 'gone') steps.push({ kind: 'gone' });
    else if (word === 'expect') {
      steps.push({ kind: 'expect', text: text!, condition: parseCondition(text!) });
    } else throw new Error(`${name}: there is no "# ${word}:"`);
  }
  return { name, manifest, steps, never, events };
}

function parseAction(text: string): StoryStep {
  const [word, ...rest] = text.split(' ');
  if (text === 'remove') return { kind: 'remove' };
  if (word === 'kill' && rest.length === 1) return { kind: 'kill', container: rest[0]! };
  const edit = /^edit (.+) -> (.+)$/.exec(text);
  if (edit !== null) return { kind: 'edit', from: edit[1]!, to: edit[2]! };
  throw new Error(`nobody can do ${JSON.stringify(text)}`);
}
