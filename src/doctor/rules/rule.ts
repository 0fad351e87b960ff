import { type Finding } from '../finding.js';
import { type NodeFacts } from '../node-facts.js';

/** Makes findings of facts: pure, and none where it cannot know. */
export type Rule = (facts: NodeFacts) => Finding[];
