/** The files of the repository that pages link to, as text. */
import { filesOfPages } from '../../docs.js';

export const getStaticPaths = () => filesOfPages().map(({ path, text }) => ({ params: { path }, props: { text } }));

export const GET = ({ props }) => new Response(props.text);
