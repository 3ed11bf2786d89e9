#include "rules.h"

const rule RULES[R_N] = {
    [R_WALL] = {"I-WALL", "wall", RULE_ENGINE,
                "Wall-clock is the end of the last event, device busy and idle time add up to it, "
                "and no term is added afterwards.",
                "the terms of the wall-clock, or a timeline",
                "Fails where a term is counted twice (client queue wait inside server time) or the "
                "parts do not add up to the whole.",
                "design model section 6; audit correction #11855"},
    [R_EVIDENCE] = {"I-EVIDENCE", "evidence", RULE_ENGINE,
                    "Every second has a source: a point of a rate card, a fit, or a declared "
                    "assumption that names its evidence.",
                    "what each term of a time rests on",
                    "Fails where time has no source; cannot tell where a rate is claimed and no "
                    "measurement of it is named.",
                    "design model section 6; audit correction #11855"},
    [R_QUEUE] = {"I-QUEUE", "queue", RULE_ENGINE, "Queue wait stands in TTFT and in no busy time.",
                 "when requests were sent, started and answered",
                 "Fails where waiting is counted as work of the device.",
                 "design model section 6; audit correction #11855"},
    [R_TOKENS] = {"I-TOKENS", "tokens", RULE_ENGINE,
                  "Presented tokens are reused plus computed ones, outputs are as long as asked, "
                  "and the prefix is computed as often as the policy says.",
                  "agents, turns, prefix, tokens of a turn, and the reuse policy",
                  "Exact integers: any difference fails.", "design model section 3"},
    [R_POPULATION] = {"I-POPULATION", "population", RULE_PLAUSIBILITY,
                      "Only like is compared with like: percentiles of one population, "
                      "aggregate rates with aggregate rates, cold with cold.",
                      "what each figure counts: which turns, which requests, one stream or all",
                      "Fails where both sides are known and differ, or where a rate behaves like "
                      "that of one stream and is called the batch's.",
                      "design model section 6; audit correction #11854"},
    [R_ROOFLINE] = {"I-ROOFLINE", "roofline", RULE_PLAUSIBILITY,
                    "No rate and no time implies more FLOP/s or bytes/s than the hardware can do.",
                    "weights or parameters, and bandwidth or arithmetic of the chip",
                    "Fails above the ceiling; cannot tell within the ceiling's own uncertainty, "
                    "or where chip, precision or active parameters are not known.",
                    "design model section 6; physics: each weight is read once a step and takes "
                    "two operations a token"},
    [R_FLOOR] = {"I-FLOOR", "floor", RULE_PLAUSIBILITY,
                 "No step, and no prefill of one or more new tokens, is faster than one pass over "
                 "the weights.",
                 "weights and bandwidth, or a measured decode step of one sequence",
                 "Fails below the bandwidth floor, or more than 5 % below the measured step.",
                 "design model sections 1 and 6; physics"},
    [R_CARD] = {"I-CARD", "card", RULE_PLAUSIBILITY,
                "Rates used are rates measured, or the difference is declared.",
                "the rates a result was computed with, and measured ones at the same key",
                "Fails where a rate differs from the measurement of the same thing by more than "
                "its digits leave open.",
                "design model section 6"},
    [R_RATIO] = {"I-RATIO", "arithmetic", RULE_PLAUSIBILITY,
                 "Printed ratios, sums and products follow from their printed parts.",
                 "the parts, with their digits",
                 "Compares with everything that rounds to the printed parts; a last digit that is "
                 "cut instead of rounded is a note.",
                 "design model section 6"},
    [R_CONSISTENCY] = {"I-CONSISTENCY", "consistency", RULE_PLAUSIBILITY,
                       "What is stated twice is the same both times: text, tables, data sheets, "
                       "repeated measurements.",
                       "two statements of one thing",
                       "Fails where they differ by more than rounding; two measurements fail to "
                       "agree above 10 %.",
                       "design model section 6 (I-RATIO: text, table and packet agree)"},
    [R_UNITS] = {"I-UNITS", "units", RULE_PLAUSIBILITY,
                 "GB and GiB, ms and s, tokens per second of a stream and of a batch are what "
                 "their names say.",
                 "two figures that a unit ties together",
                 "Fails where the figures agree only if the unit is read as another one.",
                 "design model section 6"},
    [R_MEMORY] =
        {"I-MEMORY", "memory", RULE_PLAUSIBILITY,
         "Memory follows from parameters, precision, the architecture's KV layers and "
         "the tokens held, holds the weights, and fits the device.",
         "parameters and precision, or layers, KV heads, head size, tokens",
         "Fails where the formula gives another number, a peak is below the weights, or the "
         "sum does not fit.",
         "design model sections 4 and 6"},
    [R_CONDITIONS] = {"I-CONDITIONS", "conditions", RULE_PLAUSIBILITY,
                      "The conditions under which a number holds are stated with it.",
                      "context length, batch, precision, engine build, settings",
                      "Cannot tell where one is missing that the number depends on; fails where "
                      "stated conditions contradict the comparison.",
                      "design model section 6"},
    [R_MONO] = {"I-MONO", "mono", RULE_PLAUSIBILITY,
                "Less work on the same device does not take longer: sharing never computes more, "
                "a larger batch has no shorter step.",
                "two runs, or two points, that differ in one thing",
                "A fall between measured points is real on some engines: cannot tell until it is "
                "measured again.",
                "design model section 6"},
    [R_DETERMINISM] =
        {"I-DETERMINISM", "determinism", RULE_ENGINE,
         "Same input and seed give the same bytes, on any number of threads.", "two runs",
         "Compares bytes; the test suite decides it. Of a claim: counts of two runs with one seed.",
         "design model section 6"},
};
