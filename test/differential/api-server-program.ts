import { execFile, spawn } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What the program in `api-server` is asked. */
export interface Question {
  readonly kind: 'pod' | 'yaml';
  readonly text: string;
}

/** One error of Kubernetes: its field in the object, and its class. */
export interface ServerProblem {
  readonly field: string;
  readonly type: string;
  readonly detail: string;
}

/** What the program answers. */
export interface ServerAnswer {
  readonly problems: readonly ServerProblem[];
  readonly warnings?: readonly string[];
  /** With defaults, as the server would store it. */
  readonly pod?: Readonly<Record<string, unknown>>;
  readonly json?: unknown;
}

const SOURCES = fileURLToPath(new URL('api-server/', import.meta.url));
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/podloop-differential/', import.meta.url));

/** Builds the program, unless that has been done with these sources. It needs Go; some minutes the first time. */
export async function buildApiServer(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['main.go', 'go.mod', 'go.sum']) hash.update(await readFile(`${SOURCES}${name}`));
  const program = `${CACHE}api-server-${hash.digest('hex').slice(0, 12)}`;
  if (existsSync(program)) return program;
  await mkdir(CACHE, { recursive: true });
  await promisify(execFile)('go', ['build', '-buildvcs=false', '-o', program, '.'], { cwd: SOURCES });
  return program;
}

/** The answers to all questions, in their order. */
export async function askApiServer(program: string, questions: readonly Question[]): Promise<ServerAnswer[]> {
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers: ServerAnswer[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`the program ended with ${code}`));
    });
  });
  const write = (async () => {
    for (const [id, question] of questions.entries()) {
      if (child.stdin.write(`${JSON.stringify({ id, ...question })}\n`)) continue;
      await new Promise((resolve) => child.stdin.once('drain', resolve));
    }
    child.stdin.end();
  })();
  for await (const line of createInterface({ input: child.stdout })) {
    answers.push(JSON.parse(line) as ServerAnswer);
  }
  await Promise.all([write, ended]);
  return answers;
}
