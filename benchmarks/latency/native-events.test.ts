import { expect, it } from 'vitest';
import { parseExit } from './native-events.js';

const exit = (id: string) =>
  `2026-01-01 12:13:53.777522269 +0000 UTC k8s.io /tasks/exit {"container_id":"c1","id":"${id}","pid":5,"exit_status":137}`;

it('reads the ends of containers and of nothing else', () => {
  expect(parseExit(exit('c1'))).toBe('c1');
  expect(parseExit(exit('exec-1'))).toBeUndefined();
  expect(
    parseExit('2026-01-01 12:13:53.7 +0000 UTC k8s.io /tasks/start {"container_id":"c1","pid":5}'),
  ).toBeUndefined();
  expect(parseExit('')).toBeUndefined();
});
