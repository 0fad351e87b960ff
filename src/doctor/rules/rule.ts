import { type Finding } from '../finding.js';
import { type NodeFacts } from '../facts/node-facts.js';

/** Makes findings of facts: pure, and none where it cannot know. */
export type Rule = (facts: NodeFacts) => Finding[];
