import { isDeepStrictEqual } from 'node:util';
import { parseYamlDocuments } from '#base/text/yaml/yaml-document.js';
import { type ServerAnswer } from './api-server-program.js';
import { findYamlDifference } from './deliberate-differences.js';
import { type Comparison } from './compare-pods.js';

/** Holds what podloop reads out of a text of YAML against what sigs.k8s.io/yaml does. */
export function compareYaml(text: string, answer: ServerAnswer): Comparison {
  const documents = parseYamlDocuments(text);
  const problems = documents.flatMap((document) => document.problems);
  if (answer.problems.length > 0) {
    if (problems.length > 0) return { kind: 'same', isValid: false };
    return { kind: 'fault', what: 'laxer', why: answer.problems[0]!.detail };
  }
  const [first] = problems;
  if (first !== undefined) {
    const known = findYamlDifference(first.message, text);
    if (known !== undefined) return { kind: 'deliberate', reason: known.name };
    return {
      kind: 'fault',
      what: 'stricter',
      why: `${first.place.line}:${first.place.column} ${first.message}`,
    };
  }
  if (documents.length > 1) return { kind: 'fault', what: 'stricter', why: 'more than one document' };
  const value = documents[0]?.value ?? null;
  if (isDeepStrictEqual(normal(value), normal(answer.json ?? null))) return { kind: 'same', isValid: true };
  const said = `${JSON.stringify(value)}, not ${JSON.stringify(answer.json)}`;
  return { kind: 'fault', what: 'other defaults', why: said.slice(0, 300) };
}

/** As JSON has it. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
