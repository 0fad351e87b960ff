import { stringify } from 'yaml';
import { type Diagnosis, exitCodeOf } from '#node';

/** A diagnosis as one object: everything that was found out, and what is wrong. */
function toDiagnosisObject(diagnosis: Diagnosis): object {
  const { facts, findings } = diagnosis;
  const { atMs, ...rest } = facts;
  return { time: new Date(atMs).toISOString(), exitCode: exitCodeOf(diagnosis), findings, facts: rest };
}

/** In one line where more follow. */
export function toDiagnosisJson(diagnosis: Diagnosis, inOneLine: boolean): string {
  return JSON.stringify(toDiagnosisObject(diagnosis), undefined, inOneLine ? undefined : 2);
}

/** The same as YAML, without a line end behind it. */
export function toDiagnosisYaml(diagnosis: Diagnosis): string {
  const text = stringify(toDiagnosisObject(diagnosis), { indentSeq: false, lineWidth: 0, version: '1.1' });
  return text.replace(/\n$/, '');
}
