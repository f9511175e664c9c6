import t from 'tap';
import { editDistance } from '../../src/shared/text.js';

t.equal(editDistance('', ''), 0);
t.equal(editDistance('same', 'same'), 0);
t.equal(editDistance('', 'abc'), 3);
t.equal(editDistance('abc', ''), 3);
t.equal(editDistance('kitten', 'sitting'), 3);
t.equal(editDistance('subject', 'sujbect'), 2, 'two letters changed places');
