// What can be wrong with a schedule, and how the compiler is made to say it on the user's own line.
//
// Each diagnosis is an enumerator, a sentence and a way out for schedule_error, and a function that is not constexpr and
// whose name is the message: in a constant evaluation, calling it is the compile error. A way out that names loops or
// stages is "" here and made in print.ipp.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// illegal: would change the result, or cannot be done. deferred: the extents or the target at the first call
/// decide. Verdicts join to the larger one: what was illegal once stays illegal.
enum class verdict : std::uint8_t { legal, deferred, illegal };

// clang-format off
#define WEFT_DIAGNOSES(X) \
  X(the_axis_was_split_already, \
    "the axis was split already; use the two axes that the split returned", \
    "") \
  X(the_axis_belongs_to_no_stage_of_this_schedule, \
    "no such axis in this schedule", \
    "") \
  X(a_factor_must_be_at_least_1, \
    "the factor must be at least 1", \
    "") \
  X(parts_of_an_axis_are_at_most_2_to_the_40_long, \
    "parts of an axis are at most 2^40 long, the factors of splits around each other multiplied", \
    "a smaller factor, or leaving this step out: a factor beyond the extent cuts nothing") \
  X(an_axis_is_named_twice, \
    "an axis is named twice", \
    "") \
  X(the_axes_belong_to_different_stages, \
    "the axes belong to different stages; a step changes the loops of one", \
    "") \
  X(the_axis_is_unrolled_vectorized_or_parallel_already, \
    "the axis is unrolled, vectorized or parallel already; split it first, then mark its parts", \
    "") \
  X(a_reduction_axis_cannot_run_in_parallel__use_rfactor, \
    "a reduction axis cannot run in parallel: its iterations add to the same element; run a spatial axis in parallel, or use rfactor", \
    "") \
  X(a_reduction_axis_cannot_be_vectorized__use_rfactor, \
    "a reduction axis cannot be vectorized: that would change the order of the sum; vectorize a spatial axis, or use rfactor", \
    "") \
  X(a_scanned_axis_is_walked_in_its_order__mark_another_axis, \
    "a scanned axis is walked in its order, each step from the one before: it cannot be vectorized, run in parallel or taken apart; mark another axis of the stage", \
    "another axis; or blocks in the what-lambda: a scan in each, a scan of their last values, and a stage that joins the two") \
  X(the_outer_part_of_a_scanned_axis_stays_around_the_inner_one, \
    "the outer part of a scanned axis stays around the inner one: its steps are taken in their order", \
    "an order in which only other axes change places with its parts") \
  X(a_scanned_axis_and_another_one_cannot_be_fused, \
    "a scanned axis and another one cannot be fused", \
    "one fuse of the other axes") \
  X(a_scan_cannot_be_inlined__use_compute_at, \
    "a scan cannot be inlined: each element needs all before it", \
    "compute_at, a loop outside of the axis along which it is read") \
  X(the_last_part_of_a_scanned_axis_is_neither_shifted_nor_rounded_up, \
    "the last part of a scanned axis is neither shifted inwards nor rounded up", \
    "another tail, such as tail::guard") \
  X(a_scan_keeps_its_dimensions, \
    "a scan keeps its dimensions: it is walked along one of them", \
    "cache_read of it for the stages that read it, and transform_layout of that copy") \
  X(the_stage_has_a_parallel_axis_already, \
    "the stage has a parallel axis already", \
    "leaving this step out, or the one before it") \
  X(the_stage_has_a_vectorized_axis_already, \
    "the stage has a vectorized axis already", \
    "leaving this step out, or the one before it") \
  X(a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first, \
    "a parallel axis cannot stand inside an unrolled or vectorized one; reorder first", \
    "an order in which the parallel axis stands outside of them") \
  X(an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part, \
    "an inner part of the same axis runs inside it; vectorize that part, or reorder first", \
    "") \
  X(an_unrolled_axis_runs_more_than_1024_times__split_it_first, \
    "an unrolled axis runs more than 1024 times; split it and unroll the inner part", \
    "") \
  X(a_vectorized_axis_has_more_than_1024_lanes__split_it_first, \
    "a vectorized axis has more than 1024 lanes; split it and vectorize the inner part", \
    "") \
  X(an_unrolled_axis_has_an_open_extent__split_it_first, \
    "an axis that is to be written out, unrolled or as virtual threads, has an open extent (weft::dim); split it and take the inner part", \
    "") \
  X(a_vectorized_axis_has_an_open_extent__split_it_first, \
    "a vectorized axis has an open extent (weft::dim); split it and vectorize the inner part", \
    "") \
  X(the_stage_is_none_of_this_schedule, \
    "no such stage in this schedule", \
    "") \
  X(an_output_is_computed_in_a_nest_of_its_own, \
    "an output of the kernel is computed in a nest of its own", \
    "leaving this step out, or a stage that another one reads") \
  X(one_of_the_stages_needs_the_other__use_compute_at, \
    "one of the stages needs what the other computes, or something that is computed of it", \
    "compute_at for the one that is read") \
  X(iterations_of_a_parallel_axis_would_share_elements__reorder_or_let_parts_divide, \
    "iterations of a parallel axis around would compute the same elements of the other stage: an outer part of an axis runs inside of the inner one, or a part of a part or of fused axes does not divide it", \
    "an order in which outer parts stand outside of inner ones, factors that divide what they split, or a loop further out or in") \
  X(the_stages_differ_in_an_axis_that_they_would_share, \
    "the stages differ in an axis that they would share: the one has it not, or of another extent", \
    "an axis further out, or stages of equal extents") \
  X(the_stage_of_this_axis_is_computed_inside_another__compute_with_takes_one_that_is_not, \
    "the stage of this axis is computed inside another one, or beside it", \
    "an axis of that other stage") \
  X(a_stage_beside_another_has_its_whole_memory, \
    "a stage that is computed with another one has memory for the whole of it", \
    "leaving this step out") \
  X(a_stage_cannot_be_computed_inside_itself, \
    "a stage cannot be computed inside itself", \
    "leaving this step out, or a stage that another one reads") \
  X(a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out, \
    "a stage that reads it runs outside of this axis; compute it further out, or that stage further in", \
    "leaving this step out, or compute_root") \
  X(a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis, \
    "a stage cannot be computed inside an unrolled or vectorized axis", \
    "") \
  X(a_parallel_axis_cannot_run_inside_a_parallel_axis_of_another_stage, \
    "a parallel axis cannot run inside a parallel axis of another stage", \
    "leaving one of the two serial") \
  X(a_stage_is_computed_inside_this_axis__split_it_before_compute_at, \
    "a stage is computed inside this axis; split it before compute_at", \
    "this split before that compute_at, which then names one of its parts") \
  X(the_stage_of_this_axis_is_inlined__it_has_no_loops, \
    "the stage of this axis is inlined: it has no loops", \
    "compute_at for both stages, or compute_root") \
  X(a_reduction_cannot_be_inlined__use_compute_at, \
    "a reduction cannot be inlined; use compute_at", \
    "compute_at an axis of a stage that reads it") \
  X(this_matrix_unit_keeps_its_sums_to_itself__use_compute_at, \
    "where this matrix unit has its sums is not known: nothing can be done with single ones there", \
    "an intrinsic of mma, or compute_at a loop around the warps, which puts the sums in shared memory") \
  X(a_stage_that_others_are_computed_in_cannot_be_inlined, \
    "a stage in whose loops others are computed cannot be inlined", \
    "compute_at for both stages, or compute_root") \
  X(the_stage_does_not_read_this_tensor, \
    "the stage does not read this tensor", \
    "leaving this step out") \
  X(the_stage_is_computed_inside_another__cache_read_it_before_compute_at, \
    "the stage is computed inside another, or inlined; cache_read it first, then say where it is computed", \
    "this step before that compute_at or compute_inline") \
  X(the_stage_is_computed_in_no_loop_of_another__compute_at_first, \
    "the stage is computed in no loop of another one; compute_at first", \
    "compute_at before this step") \
  X(the_axis_does_not_stand_around_the_loop_in_which_the_stage_is_computed, \
    "the axis does not stand around the loop in which the stage is computed", \
    "an axis outside of that of compute_at") \
  X(a_parallel_axis_cannot_stand_between_a_stage_and_its_memory, \
    "a parallel axis cannot stand between a stage and its memory: its iterations would write the same elements", \
    "store_at an axis inside the parallel one") \
  X(memory_is_folded_along_an_axis_of_the_stage_itself, \
    "memory is folded along an axis of the stage itself, which no step has made and no reduction runs over", \
    "an axis as the stage's axes() gives it") \
  X(memory_that_is_folded_along_an_axis_cannot_be_written_by_vectors_along_it, \
    "memory that is folded along an axis cannot be written by vectors along it", \
    "another axis for one of the two") \
  X(the_axis_was_fused_already, \
    "the axis was fused already; use the axis that fuse returned", \
    "") \
  X(the_axes_do_not_stand_directly_inside_each_other__reorder_first, \
    "the axes do not stand directly inside each other, in this order; reorder first", \
    "") \
  X(a_reduction_axis_and_a_spatial_one_cannot_be_fused, \
    "a reduction axis and a spatial one cannot be fused: a sum would run over elements of several", \
    "one fuse of spatial axes, and one of those of the reduction") \
  X(the_fused_axis_would_run_more_than_2_to_the_62_times, \
    "the fused axis would run more than 2^62 times", \
    "fewer axes, or smaller factors of the splits that made them") \
  X(a_stage_is_computed_inside_this_axis__fuse_it_before_compute_at, \
    "a stage is computed inside this axis; fuse it before compute_at", \
    "this fuse before that compute_at, which then names the fused axis") \
  X(the_last_part_of_a_reduction_cannot_be_shifted_inwards, \
    "the last part of a reduction axis cannot be shifted inwards: some terms would be added twice", \
    "tail::guard, mask or partition for this axis") \
  X(an_axis_of_an_output_or_of_a_reduction_cannot_be_rounded_up, \
    "an axis of an output of the kernel, or of a reduction, cannot be rounded up", \
    "another tail, or this one for a stage that another one reads") \
  X(a_part_of_an_axis_cannot_be_rounded_up__round_up_the_whole_axis_first, \
    "a part of an axis, or several fused, cannot be rounded up: its last part would be that of its neighbour", \
    "round_up for the first split of the axis") \
  X(the_axis_is_gone__use_those_of_the_handle_that_its_step_returned, \
    "the axis is gone: cache_write, transform_layout or rfactor gave its stage others; use those of the handle that it returned", \
    "") \
  X(the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it, \
    "the stage was split, reordered, marked or placed already; this step comes before all others on it", \
    "this step before all others that name the stage or its axes") \
  X(an_output_keeps_its_layout__transform_a_copy_or_a_stage_that_others_read, \
    "an output of the kernel keeps its layout; transform a copy (cache_read) or a stage that others read", \
    "transform_layout of a copy that cache_read made") \
  X(a_layout_must_hold_each_element_once__cut_each_dimension_into_quotients_and_remainders, \
    "a layout must hold each element exactly once: each dimension whole, or cut into quotients and remainders", \
    "such as dims(j / 16, k, j % 16) of k and j: a factor from 2 to 2^31, and at most 8 dimensions") \
  X(the_memory_of_an_output_is_the_callers__cache_write_it, \
    "the memory of an output is the caller's: its place and its strides are given", \
    "cache_write, and this step for the stage that it returns") \
  X(an_inlined_stage_has_no_memory, \
    "an inlined stage has no memory", \
    "compute_at or compute_root instead of compute_inline") \
  X(a_stride_has_a_dimension_of_the_stage_a_factor_from_1_to_4096_and_an_offset_below_it, \
    "a stride has a dimension of the stage, a factor from 1 to 4096 and an offset from 0 to below it", \
    "such as storage_align(stage, 0, 16, 8)") \
  X(rows_are_swizzled__the_stage_has_two_dimensions_or_more, \
    "a swizzle exchanges units of 16 bytes within rows, by the number of the row: the stage has two dimensions or more", \
    "no such step for a stage of one dimension; or transform_layout, such as dims(i / 64, i % 64)") \
  X(rows_that_are_swizzled_are_multiples_of_16_bytes_apart, \
    "rows that are swizzled are multiples of 16 bytes apart, a number that is known", \
    "splits that make parts of such rows, or storage_align of the dimension in front of the last one: 8 for f16, 4 for f32") \
  X(memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop, \
    "memory on the stack has a known size, at most 64 KiB for all stages of a kernel together", \
    "compute_at a loop in which less of it is read, before this step; or scope::workspace") \
  X(memory_that_is_to_be_registers_is_accessed_at_numbers__unroll_the_loops_around, \
    "memory that is to be registers has accesses whose element is not known when the loops are unrolled", \
    "unroll or vectorize the loops that their indices use; or scope::stack") \
  X(shared_memory_is_one_blocks_own__compute_the_stage_inside_of_a_loop_over_blocks, \
    "shared memory is one block's own, of a GPU: the stage is computed in no loop inside of one that is bound to blocks, where no other block needs it", \
    "bind of a loop of the stage that reads it to blocks, compute_at a loop inside of that, and then this step") \
  X(a_block_shares_at_most_227_KiB__compute_the_stage_inside_a_loop, \
    "memory that a block shares has a known size, at most 227 KiB", \
    "compute_at a loop in which less of it is read, before this step; or scope::workspace") \
  X(the_stage_must_read_that_one_at_its_own_index_alone, \
    "the stage must read that one, each element at its own index, and no other element of it", \
    "compute_at or compute_inline for the stage that is read") \
  X(a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there, \
    "a reduced axis runs outside of this one, or is it: no element is complete there", \
    "an axis outside of all reduced ones, or cache_write") \
  X(a_knob_needs_at_least_one_value, \
    "a knob needs at least one value", \
    "a list such as {4, 8}") \
  X(two_knobs_have_this_name__give_each_its_own, \
    "two knobs have this name; give each its own", \
    "its number kept in a variable where it is one knob: auto n = s.knob(..)") \
  X(the_name_of_a_knob_has_at_most_30_characters, \
    "the name of a knob has at most 30 characters", \
    "a shorter one: results are remembered by it") \
  X(the_how_lambda_threw_for_these_values_of_its_knobs, \
    "the how-lambda threw for these values of its knobs", \
    "values for which it does not, or no exception: what no step allows is left out by itself") \
  X(a_schedule_has_at_most_32_knobs, \
    "a schedule has at most 32 knobs", \
    "values that follow from fewer knobs") \
  X(no_stage_has_this_name_and_so_many_axes, \
    "no stage has this name and so many axes", \
    "") \
  X(several_stages_have_this_name__give_each_its_own, \
    "several stages have this name; give each its own", \
    "") \
  X(the_unrolled_and_vectorized_axes_make_more_than_1024_copies, \
    "the unrolled and vectorized axes make more than 1024 copies of the stage's statement", \
    "smaller factors") \
  X(the_tile_does_not_fit_the_vector_registers__make_it_smaller, \
    "the tile of accumulators does not fit the vector registers of this CPU; unroll or vectorize less", \
    "smaller factors") \
  X(the_stage_does_not_have_this_axis, \
    "the axis belongs to another stage than the one that is named first", \
    "an axis of the stage that is named first") \
  X(only_a_reduced_axis_has_terms_to_share_out, \
    "only a reduced axis has terms to share out among parts; a spatial one is split", \
    "") \
  X(a_reduced_axis_is_split_or_marked_already__rfactor_first, \
    "a reduced axis of the stage is split, fused, unrolled or the like already; rfactor first, then split the axes that it returns", \
    "this step before that one") \
  X(a_stage_is_computed_inside_a_reduced_axis__rfactor_before_compute_at, \
    "a stage is computed inside a reduced axis of this one, which will be gone; rfactor before compute_at", \
    "this step before that compute_at, which then names an axis of the stage that rfactor returns") \
  X(the_parts_would_have_more_than_8_dimensions, \
    "the parts would be a tensor of more than 8 dimensions", \
    "leaving this step out") \
  X(the_order_of_its_terms_counts__rfactor_needs_an_associative_reduction, \
    "the order of its terms counts, as far as is known: of each result, the value so far may only be joined with terms, by one of + * min max and or xor; or it is an argmin or argmax, or its combiner is weft::any_order", \
    "weft::reduce with weft::any_order(combiner), if parts can be joined by it, or vectorizing a spatial axis") \
  X(the_stage_reduces_nothing, \
    "the stage reduces nothing: it has no identity to store", \
    "leaving this step out") \
  X(the_identity_is_stored_in_front_of_this_axis__split_it_first, \
    "the identity is stored in front of this axis; split, fuse or take it apart before decompose_reduction", \
    "this step before that decompose_reduction, which then names one of its parts") \
  X(a_reduced_axis_runs_outside_of_this_one__the_identity_is_stored_once, \
    "a reduced axis runs outside of this one, and the identity is stored once, in front of all terms", \
    "decompose_reduction of an axis outside of all reduced ones, or the outermost of these") \
  X(threads_join_the_parts_of_this_reduction__no_identity_is_stored_in_front, \
    "threads join the parts of this reduction in a tree, and one of them stores the result: no identity stands in front", \
    "leaving decompose_reduction out, or the axis that joins the parts serial") \
  X(a_matrix_unit_begins_its_tiles_with_zeros__no_identity_is_stored_in_front, \
    "a matrix unit begins its tiles with zeros, in its own registers: no identity is stored in front", \
    "leaving decompose_reduction out, or tensorize") \
  X(only_what_the_kernel_returns_is_stored_past_the_caches, \
    "only what the kernel returns is stored past the caches: what another stage reads is read soon", \
    "this step for an output, or leaving it out") \
  X(a_reduction_comes_back_to_its_elements__cache_write_it_first, \
    "a reduction comes back to its elements, which should then be in the caches; cache_write the stage first", \
    "cache_write before all other steps on the stage, and this one for the stage itself, which is a copy then") \
  X(memory_inside_a_parallel_axis_has_no_copies_for_virtual_threads_around_it, \
    "a stage is computed inside a parallel axis that runs inside virtual threads, and its memory cannot have a copy for each of both", \
    "computing that stage further out, or leaving its host's axis serial") \
  X(a_prepacked_stage_is_computed_in_a_nest_of_its_own, \
    "a prepacked stage is computed in a nest of its own, once for many calls", \
    "leaving out one of the two steps: what is computed inside a loop of another stage is made anew there") \
  X(a_prepacked_stage_reads_one_input_and_nothing_else, \
    "a prepacked stage is made of one input and nothing else: no other tensor, no scalar, no other stage", \
    "s.prepack of a copy that s.cache_read made of the input") \
  X(memory_on_the_stack_ends_with_the_call__it_cannot_be_prepacked, \
    "memory on the stack ends with the call; what is in it cannot be kept for the next one", \
    "leaving out set_scope") \
  X(a_tensor_is_prefetched_in_this_axis__split_and_mark_it_before, \
    "a tensor is prefetched in this axis; split, fuse and mark it before", \
    "this step before that prefetch") \
  X(an_unrolled_or_vectorized_axis_is_no_loop_to_prefetch_in, \
    "an unrolled or vectorized axis is no loop to prefetch in", \
    "the loop around it") \
  X(a_prefetch_is_1_to_2_to_the_20_iterations_ahead, \
    "a prefetch is 1 to 2^20 iterations ahead", \
    "such as s.prefetch(B, k, 8)") \
  X(the_axis_runs_as_one_with_others__split_and_mark_it_before, \
    "the axis runs as one with others; split, fuse and mark it before jam", \
    "this step before that jam, which then names one of its parts") \
  X(loops_that_run_as_one_are_of_different_stages, \
    "loops that run as one are of different stages", \
    "one loop of each stage, or fuse for those of one stage") \
  X(loops_that_run_as_one_have_one_extent, \
    "loops that run as one have one extent", \
    "splits that leave each of them as many iterations, such as s.split(j, 64) where the other walks 64 elements in each of its own") \
  X(stages_whose_loops_run_as_one_are_computed_in_one_loop__compute_at_first, \
    "the stages whose loops run as one are computed in one loop; compute_at first", \
    "s.compute_at(stage, r) for each of them but the one that r is a loop of") \
  X(a_prefetch_inside_stands_in_a_loop_further_in, \
    "prefetch_inside names a loop and one further in, of the same stage or of one that is computed there", \
    "such as s.prefetch_inside(B, jo, k, 1), where k runs inside of jo") \
  X(a_stage_is_computed_1_to_16_iterations_ahead, \
    "a stage is computed 1 to 16 iterations ahead", \
    "such as s.pipeline(panel, 1)") \
  X(only_in_a_serial_axis_is_a_stage_computed_ahead, \
    "only in a serial axis is a stage computed ahead: of a parallel one no iteration comes before another", \
    "compute_at an axis inside the parallel one, such as a part of it that a split has made") \
  X(a_stage_that_is_computed_ahead_has_memory_for_whole_parts__not_for_what_slides, \
    "a stage that is computed ahead has memory for whole parts, not for what slides", \
    "pipeline without store_at and store_root, or these without pipeline") \
  X(a_stage_that_reads_it_is_computed_further_ahead__pipeline_this_one_before, \
    "a stage that reads it is computed further ahead in this axis; pipeline this one before, at least as far", \
    "pipeline for what is read, then for the stage that reads it") \
  X(an_asynchronous_copy_has_no_arithmetic__cache_read_for_a_stage_that_copies, \
    "only a stage that copies can be copied asynchronously: each element one of a tensor in memory, of the same type, or zero where a condition says so", \
    "cache_read of what the stage reads, and this step for that copy") \
  X(a_stage_that_reads_it_is_computed_as_far_ahead__an_asynchronous_copy_needs_an_iteration, \
    "a stage that reads it is computed as far ahead: an asynchronous copy has an iteration at least to arrive", \
    "pipeline one iteration further ahead, or without weft::transfer::async") \
  X(threads_join_parts_of_one_value_in_a_tree__leave_this_axis_serial, \
    "no tree of threads joins parts of several values, as argmin and argmax have them: the first thread joins them", \
    "this axis serial, and bind of the axis of the stage that rfactor returned to threads") \
  X(another_axis_is_bound_to_that_already, \
    "another axis of the stage is bound to that already, or runs in parallel on a CPU", \
    "another thread axis, or fuse for the two") \
  X(blocks_stand_outside_of_threads__reorder_first, \
    "blocks stand outside of threads; reorder first", \
    "an order in which the axes that are bound to blocks stand outside") \
  X(a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first, \
    "a block has at most 1024 threads, and a warp 32 lanes: the axis runs more often, or so often as only the call knows", \
    "split, and bind of the inner part") \
  X(a_block_has_at_most_64_threads_along_z__bind_to_another_axis, \
    "a block has at most 64 threads along z, and at most 1024 along x and y; bind to another axis", \
    "bind to thread_x or thread_y, or split and bind of the inner part") \
  X(a_parallel_axis_is_run_by_at_least_1_thread, \
    "a parallel axis is run by at least 1 thread, and a limit is at most 2^20", \
    "such as s.parallel(i, weft::thread_limit(4)); a serial loop is one that is not parallel") \
  X(a_condition_is_about_whole_axes__not_about_parts_or_several_fused, \
    "a condition is about whole axes, not about parts of one or several that were fused", \
    "the axis as the stage's axes() gives it") \
  X(a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on, \
    "a condition is a rest from 0 to below its divisor, or an extent from 1 on; at most 2^31", \
    "s.extent(i) % 16 == 0, or s.extent(i) == 1024") \
  X(a_stage_that_runs_inside_another_has_no_copy_of_its_own__specialize_that_one, \
    "a stage that is computed inside another, or inlined, has no copy of its own: specialize the one that it is computed in", \
    "specialize for that stage: what is computed in its loops is copied with it") \
  X(an_instruction_adds_terms_of_a_reduced_axis, \
    "an instruction joins terms of a reduced axis; a spatial one is vectorized", \
    "the innermost part of a reduced axis") \
  X(a_tensorized_axis_stands_inside_all_others__reorder_first, \
    "a tensorized axis stands inside all others of its stage", \
    "a reorder that ends with it, before this step") \
  X(a_tensorized_axis_runs_once_for_each_term_of_the_instruction__split_it_first, \
    "a tensorized axis runs exactly once for each term of the instruction", \
    "the inner part of a split by that number of terms: 2 of pmaddwd and vdpbf16ps, 4 of vpdpbusd") \
  X(a_tile_of_a_matrix_unit_is_the_three_innermost_axes__rows_columns_and_terms, \
    "a tile of a matrix unit is the three innermost axes of the stage: rows, columns and terms, each as long as the unit has it, not marked", \
    "splits by 16, 16 and 16 (8 terms of tf32), and a reorder that ends with the inner parts of i, j and k") \
  X(a_tile_of_a_matrix_unit_is_whole__there_are_fewer_rows_columns_or_terms, \
    "a tile of a matrix unit is whole, and there are fewer rows, columns or terms than it has", \
    "a schedule without tensorize for such sizes; or stages that copy what is there and zeros behind it (docs/gpu.md)") \
  X(the_terms_of_the_stage_are_not_those_of_the_instruction, \
    "the terms of the stage are not those of the instruction's pattern: other operations, element types, or operands that are no elements of tensors", \
    "a sum of products of two tensors' elements: i16 and i16 for pmaddwd, u8 and i8 for vpdpbusd, bf16 and bf16 for vdpbf16ps") \
  X(a_function_computes_this_stage__it_has_no_loops, \
    "a function of yours computes this stage, all of it at once: it has no loops, and no stage is computed inside it", \
    "this step on a stage that reads it or that it reads, or on a copy of it (cache_read)") \
  X(a_function_computes_this_stage__it_stays_as_it_is, \
    "a function of yours computes this stage where it stands: of its memory alone a step may decide", \
    "set_scope, storage_align, or this step on a copy that a reader is given (cache_read)") \
  X(a_function_reads_this_stage_whole__let_it_read_a_copy, \
    "a function of yours reads this stage, all of it as it stands: it keeps its dimensions and memory of its own in front of the function", \
    "cache_read of it for the stage of the function, before this step; the function is then given the copy") \
  X(the_terms_are_no_products_of_two_tensors__of_which_each_axis_moves_one, \
    "the terms are no products of two tensors: of an element of each, converted or zero where a condition says so, and nothing else, where each spatial axis moves one of the two and some move each", \
    "a stage of its own for what else becomes of elements; of a convolution in groups, whose channels move both, this schedule without the step") \
  X(the_order_of_terms_names_each_reduced_axis_once, \
    "the order of the terms names each reduced axis of the stage once", \
    "such as s.im2col(C, di, dj, c), or s.im2col(C)")
// clang-format on

enum class diagnosis : std::uint8_t {
  none,
#define WEFT_X(name, text, way) name,
  WEFT_DIAGNOSES(WEFT_X)
#undef WEFT_X
};

#define WEFT_X(name, text, way) \
  inline void name() {}
WEFT_DIAGNOSES(WEFT_X)
#undef WEFT_X

/// Fails to be a constant expression, under the diagnosis' name.
constexpr void say(diagnosis d) {
  switch (d) {
    case diagnosis::none: return;
#define WEFT_X(name, text, way) \
  case diagnosis::name: return ::weft::name();
      WEFT_DIAGNOSES(WEFT_X)
#undef WEFT_X
  }
}
// Tables of char const*: the lengths of some 8,000 characters would be counted in constant evaluation by every TU.
constexpr std::string_view sentence(diagnosis d) {
  constexpr char const* all[] = {"",
#define WEFT_X(name, text, way) text,
                                 WEFT_DIAGNOSES(WEFT_X)
#undef WEFT_X
  };
  return all[static_cast<int>(d)];
}

/// What to try instead; "" where that hangs on the schedule.
constexpr std::string_view static_way_out(diagnosis d) {
  constexpr char const* all[] = {"",
#define WEFT_X(name, text, way) way,
                                 WEFT_DIAGNOSES(WEFT_X)
#undef WEFT_X
  };
  return all[static_cast<int>(d)];
}

}  // namespace weft::inline WEFT_ABI
