// Sentences with their correct trees, to begin with: each leads a parser down the garden path, or nearly so.

const tree = (text, words) => ({ text, gold: words.trim().split("\n").map((line, k) => {
  const [form, tag, head, relation] = line.trim().split(/\s+/);
  return [k + 1, form, "_", tag, "_", "_", head, relation, "_", "_"].join("\t");
}).join("\n") + "\n" });

const bare = (text, words) => {
  const found = tree(text, words);
  found.gold = found.gold.split("\n").map((line) => {
    const row = line.split("\t");
    if (row.length === 10) row[3] = "_";
    return row.join("\t");
  }).join("\n");
  return found;
};

export const EXAMPLES = [
  bare("The old man the boat.", `The DET 2 det
    old ADJ 3 nsubj
    man VERB 0 root
    the DET 5 det
    boat NOUN 3 obj
    . PUNCT 3 punct`),
  bare("The horse raced past the barn fell.", `The DET 2 det
    horse NOUN 7 nsubj
    raced VERB 2 acl
    past ADP 6 case
    the DET 6 det
    barn NOUN 3 obl
    fell VERB 0 root
    . PUNCT 7 punct`),
  bare("While she mended the sock fell off her lap.", `While SCONJ 3 mark
    she PRON 3 nsubj
    mended VERB 6 advcl
    the DET 5 det
    sock NOUN 6 nsubj
    fell VERB 0 root
    off ADP 9 case
    her PRON 9 nmod:poss
    lap NOUN 6 obl
    . PUNCT 6 punct`),
  bare("I saw the man with the telescope.", `I PRON 2 nsubj
    saw VERB 0 root
    the DET 4 det
    man NOUN 2 obj
    with ADP 7 case
    the DET 7 det
    telescope NOUN 2 obl
    . PUNCT 2 punct`),
  bare("Time flies like an arrow.", `Time NOUN 2 nsubj
    flies VERB 0 root
    like ADP 5 case
    an DET 5 det
    arrow NOUN 2 obl
    . PUNCT 2 punct`),
];
