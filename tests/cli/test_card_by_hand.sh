#!/bin/sh
# The card that rates/README.md shows under "By hand", as it stands there: it does what the text below it says.
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

card=my-model-q4_k_m-my-machine.json
# shellcheck disable=SC2016 # fences of code, no commands
sed -n '/^By hand/,$p' "$REPO/rates/README.md" | sed -n '/^```json$/,/^```$/p' | sed '/^```/d' >$card

project() {
    run project --card "./$card" -H 2 --delta-in 16 "$@"
}

is "the README has the card" grep -q '"id": "my-model-q4_k_m-my-machine"' $card
run check $card
is "check accepts it" test $code -eq 0
run audit "./$card"
is "the audit finds no defect in its figures" test $code -eq 0
is "and says that they are sound" grep -q '^SOUND' out
# which weights are on the device decides the peak, and a card need not say what stays on the host
run show "./$card"
is "its weights are said to be all on the device" grep -q ', 4683073536 weight bytes, all counted as on the device, ' out
mkdir part
sed 's/"weights_bytes": 4683073536,/"weights_bytes": 4683070000, "weights_host_bytes": 3536,/' $card >part/$card
run show part/$card
is "weights on the host stand beside the others" \
    grep -q ', 4683070000 weight bytes on the device and 3536 on the host, ' out
is "and nothing says that they are all on the device" sh -c '! grep -q "all counted" out'
project -K 1 -P 512
is "one agent is priced" test $code -eq 0
is "by the card alone" grep -q 'MODELED PROJECTION' out
is "short prompts between turns are marked" grep -q '†' out
project -K 2 -P 512
is "two agents together are not" test $code -eq 2
is "and the reason is the batch" grep -q 'one batch size only' err

# ---- one length and one context are not enough, as the text says ----

sed 's/, {"n_prompt_tok": 2048[^}]*}//; s/, {"batch_n": 1, "context_tok": 4160[^}]*}//' $card >thinner.json
sed 's/"id": "[^"]*"/"id": "thinner"/' thinner.json >tmp && mv tmp thinner.json
is "the thinner card lost two points" test "$(grep -o tok_s $card | wc -l)" -eq "$(($(grep -o tok_s thinner.json | wc -l) + 2))"
run project --card ./thinner.json -K 1 -H 1 -P 512
is "nothing is priced" test $code -eq 2
is "because of attention" grep -q 'attention over context is not known' err

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
