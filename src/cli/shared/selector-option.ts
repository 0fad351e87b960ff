import { Option } from 'commander';
import { stripEquals } from './agent-session.js';

/** `-l`: as every command that takes labels has it. */
export function selectorOption(): Option {
  return new Option(
    '-l, --selector <selector>',
    'Only objects with these labels: app=web,tier!=db, env in (a,b), canary, !old',
  ).argParser(stripEquals);
}
