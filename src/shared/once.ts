/** Works out a value once for each input, for as long as the function lives. */

/** In: what makes the value; inputs are told apart as the keys of a map are. */
export const once = <In, Out>(make: (input: In) => Out): ((input: In) => Out) => {
  const known = new Map<In, Out>();
  return (input) => {
    if (known.has(input)) return known.get(input) as Out;
    const made = make(input);
    known.set(input, made);
    return made;
  };
};
