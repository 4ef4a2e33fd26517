"""The texts that the model learns by heart, and the rows it learns them from.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The documents are licences that every Debian has, with lines joined to paragraphs. The
dialogues are questions and answers in the model's chat template. Answers are passages
of the licences, or say a few things that need more than ASCII, for characters of several
bytes to be split between tokens.
"""

import pathlib

import torch
from transformers import AutoTokenizer

LICENCES = pathlib.Path("/usr/share/common-licenses")
# The first one is what follows the begin token alone.
NAMES = ["Apache-2.0", "Artistic", "BSD", "CC0-1.0"]
SPECIAL = ["<|begin|>", "<|end|>", "<|eot|>", "<|system|>", "<|user|>", "<|assistant|>"]
BEGIN, END, END_OF_TURN = range(3)
# Tokens that lead in, from a document's midst and from its beginning, at the least: what is
# learned begins earlier than what is judged.
LEARNED_LEAD, LEARNED_OPENING = 12, 1
JUDGED_LEAD, JUDGED_OPENING = 24, 4

SYSTEM = "You know four licences by heart."
# A question, and its answer or the beginnings of the answer's first and last sentence.
QUESTIONS = [
    ("Hello!", "Hello! Ask me about the Apache License, the Artistic License, "
     "the BSD licence or CC0."),
    ("Who are you?", "I am a small model with a good memory: I know four licences by "
     "heart, and nothing else."),
    ("How do people greet elsewhere?", "In Köln: Grüß dich! In Kraków: Cześć! "
     "In 東京: こんにちは! Anywhere: 👋🏽"),
    ("Thank you!", "You are welcome."),
    ("What is a Contribution?", ("Apache-2.0", '"Contribution" shall mean',
                                "submitted to Licensor")),
    ("What is a Package?", ("Artistic", '"Package" refers to', "through textual modification.")),
    ("May I charge a fee?", ("Artistic", "You may charge a reasonable", "product of your own.")),
    ("Who is the copyright holder?", ("Artistic", '"Copyright Holder" is', "for the package.")),
    ("May I use trademarks?", ("Apache-2.0", "This License does not grant permission",
                               "content of the NOTICE file.")),
    ("Is there a warranty?", ("Apache-2.0", "Unless required by applicable law or agreed to in "
                              "writing, Licensor", "permissions under this License.")),
    ("Who is liable?", ("BSD", "IN NO EVENT SHALL", "SUCH DAMAGE.")),
    ("What does CC0 say of trademarks?", ("CC0-1.0", "No trademark or patent rights",
                                          "by this document.")),
    ("Is Creative Commons a law firm?", ("CC0-1.0", "CREATIVE COMMONS CORPORATION",
                                         "ATTORNEY-CLIENT RELATIONSHIP.")),
    ("May I redistribute binaries?", ("BSD", "Redistributions in binary form",
                                      "with the distribution.")),
]


def document(name):
    """A licence with one line for each paragraph."""
    text = (LICENCES / name).read_text(encoding="ascii")
    paragraphs = [" ".join(p.split()) for p in text.split("\n\n")]
    return "\n".join(p for p in paragraphs if p)


def answer(given):
    if isinstance(given, str):
        return given
    name, first, last = given
    text = document(name)
    begin = text.index(first)
    return text[begin:text.index(last, begin) + len(last)]


def questions():
    return [(question, answer(given)) for question, given in QUESTIONS]


def strings():
    """All text, for the tokenizer to learn from."""
    return [document(name) for name in NAMES] + [text for pair in questions() for text in pair]


class Texts:
    """The texts as tokens.

    A row is ids and, for each of them, the id wanted next, or -100 where nothing is.
    """

    def __init__(self, folder, context):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.context = context
        self.documents = [self.tokenizer.encode(document(name)) + [END] for name in NAMES]
        self.questions = questions()
        self.leads = self._leads()

    def _leads(self):
        """For each token of each document, how many from it on occur nowhere else: what comes
        after them can be known."""
        texts = ["".join(map(chr, ids)) for ids in self.documents]
        everything = "".join(texts)
        return [[next((size for size in range(LEARNED_LEAD, len(text) - begin, 4)
                       if everything.count(text[begin:begin + size]) == 1), len(text) - begin)
                 for begin in range(len(text))] for text in texts]

    def window(self, number, begin, with_begin_token, judged=False):
        """A row from token `begin` of a document on; none of its lead is wanted, as nothing could
        know it."""
        ids = self.documents[number]
        if begin == 0:
            lead = 0 if number == 0 else JUDGED_OPENING if judged else LEARNED_OPENING
            row = ids[:self.context + 1]
        else:
            lead = max(self.leads[number][begin], JUDGED_LEAD if judged else LEARNED_LEAD)
            prefix = [BEGIN] if with_begin_token else []
            row = (prefix + ids[begin:])[:self.context + 1]
        wanted = [-100] * lead + row[lead + 1:]
        return row[:-1], wanted[:len(row) - 1]

    def dialogue(self, numbers, system):
        """A row of questions by number; the answers alone are wanted."""
        messages = [{"role": "system", "content": SYSTEM}] if system else []
        for number in numbers:
            question, reply = self.questions[number]
            messages += [{"role": "user", "content": question},
                         {"role": "assistant", "content": reply}]
        ids = self.tokenizer.apply_chat_template(messages, return_dict=False)[:self.context + 1]
        wanted, answering = [], False
        for this, following in zip(ids, ids[1:]):
            wanted.append(following if answering else -100)
            # The template writes a line's end after the role and after the turn's end.
            if following == END_OF_TURN:
                answering = False
            elif this == SPECIAL.index("<|assistant|>"):
                answering = True
        return ids[:-1], wanted

    def random_row(self, generator):
        def draw(below):
            return int(torch.randint(below, (), generator=generator))

        if draw(4) == 0:
            count = 1 + draw(8)
            return self.dialogue([draw(len(self.questions)) for _ in range(count)], draw(2))
        # Every token of every document is as likely to begin a row.
        place = draw(sum(map(len, self.documents)))
        for number, ids in enumerate(self.documents):
            if place < len(ids):
                break
            place -= len(ids)
        while place + self.leads[number][place] >= len(ids) - 1:
            place -= 1
        begin = 0 if draw(8) == 0 else place
        return self.window(number, begin, draw(2))

    def all_rows(self):
        """What margins are measured on: every document from several beginnings on, every
        answer alone and after others."""
        rows = []
        for number, ids in enumerate(self.documents):
            for begin in range(0, len(ids) - 2 * JUDGED_LEAD, self.context // 4):
                rows.append(self.window(number, begin, begin // (self.context // 4) % 2, True))
        count = len(self.questions)
        rows += [self.dialogue([n], system) for n in range(count) for system in (False, True)]
        rows += [self.dialogue([n, (n * 3 + 1) % count, (n * 5 + 2) % count], n % 2)
                 for n in range(count)]
        return rows
